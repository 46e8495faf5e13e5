// The version of all programs; CMakeLists.txt names the same one (tests/tidy_test.cc compares).
#ifndef PARITECT_COMMON_VERSION_H_
#define PARITECT_COMMON_VERSION_H_

namespace paritect {

inline constexpr char kProgramVersion[] = "0.1.0";

}  // namespace paritect

#endif  // PARITECT_COMMON_VERSION_H_
