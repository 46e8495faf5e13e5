#include "common/crc.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(Crc, CheckValuesOfBothPolynomials) {
  EXPECT_EQ(Crc32(0, "123456789"), 0xCBF43926U);
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32(0, ""), 0U);
  EXPECT_EQ(Crc32c(0, ""), 0U);
}

TEST(Crc, PiecesGiveTheSameAsTheWhole) {
  EXPECT_EQ(Crc32(Crc32(0, "1234"), "56789"), 0xCBF43926U);
  EXPECT_EQ(Crc32c(Crc32c(0, "1234"), "56789"), 0xE3069283U);
}

}  // namespace
}  // namespace paritect
