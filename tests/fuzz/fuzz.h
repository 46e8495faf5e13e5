// What fuzz targets share. A target checks more than "does not crash": what a parser promises (form of its errors,
// valid output, the same answer twice) is asserted with FuzzCheck.
#ifndef PARITECT_TESTS_FUZZ_FUZZ_H_
#define PARITECT_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"

namespace paritect {

inline absl::string_view FuzzInput(const std::uint8_t* data, std::size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

inline void FuzzCheck(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace paritect

#endif  // PARITECT_TESTS_FUZZ_FUZZ_H_
