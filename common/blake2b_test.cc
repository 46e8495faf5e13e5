// Known answers of Python's hashlib.blake2b(..., digest_size=16), by which the observer makes them.
#include "common/blake2b.h"

#include <gtest/gtest.h>

#include "common/digest.h"

namespace paritect {
namespace {

// Numbers from 0 on as int64, little-endian.
std::string Numbers(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += std::string(1, static_cast<char>(i)) + std::string(7, '\0');
  return bytes;
}

TEST(Blake2b, KnownAnswers) {
  EXPECT_EQ(ToHex(Blake2b128("")), "cae66941d9efbd404e4d88758ea67670");
  EXPECT_EQ(ToHex(Blake2b128("abc")), "cf4ab791c62b8d2b2109c90275287816");
  EXPECT_EQ(ToHex(Blake2b128(Numbers(16))), "d995551d6b33c83d05b8d9a79d1c7671");  // one block, to the byte
  EXPECT_EQ(ToHex(Blake2b128(Numbers(40))), "84dec5180738246d834c8a9c9c1c3c5e");  // several
}

}  // namespace
}  // namespace paritect
