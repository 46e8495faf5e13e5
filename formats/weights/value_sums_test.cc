// Every kernel that this processor can run, against one element at a time.
#include "formats/weights/value_sums.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

namespace paritect {
namespace {

// Any bits, so that NaNs, infinities, subnormals and both zeros come up; `plain`: numbers of one size, as weights are.
std::vector<float> Values(std::size_t count, unsigned seed, bool plain) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value = plain ? static_cast<float>(bits) * 1e-11F - 0.02F : std::bit_cast<float>(bits);
    if (!plain && bits % 17 == 0) value = bits % 2 == 0 ? 0.0F : -0.0F;
    if (!plain && bits % 19 == 0) value = std::bit_cast<float>(bits % 0x33000000);  // below fp16's smallest numbers
    if (!plain && bits % 23 == 0) value = std::bit_cast<float>(0x477FE000 + bits % 0x2000);  // about its largest
  }
  return values;
}

// Bit by bit, beside the sign of a smallest or largest zero.
void ExpectSame(const ValueSums& a, const ValueSums& b, const std::string& where) {
  EXPECT_EQ(std::memcmp(a.sum, b.sum, sizeof(a.sum)), 0) << where;
  EXPECT_EQ(std::memcmp(a.squares, b.squares, sizeof(a.squares)), 0) << where;
  EXPECT_EQ(std::memcmp(a.fourths, b.fourths, sizeof(a.fourths)), 0) << where;
  EXPECT_EQ(a.min, b.min) << where;
  EXPECT_EQ(a.max, b.max) << where;
  EXPECT_EQ(a.elements, b.elements) << where;
  EXPECT_EQ(a.nan, b.nan) << where;
  EXPECT_EQ(a.positive_infinity, b.positive_infinity) << where;
  EXPECT_EQ(a.negative_infinity, b.negative_infinity) << where;
  EXPECT_EQ(a.zero, b.zero) << where;
  EXPECT_EQ(a.negative_zero, b.negative_zero) << where;
  EXPECT_EQ(a.subnormal, b.subnormal) << where;
  for (const auto hash : {&ValueSums::values, &ValueSums::as_bf16, &ValueSums::as_fp16}) {
    EXPECT_EQ((a.*hash).low, (b.*hash).low) << where;
    EXPECT_EQ((a.*hash).high, (b.*hash).high) << where;
  }
}

TEST(ValueSums, EveryTargetGivesTheSameBits) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const bool plain : {true, false}) {
      for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 48U, 4096U, 10'001U}) {
        for (const double smallest_normal : {0.0, 0x1p-126, 0x1p-14}) {
          const std::vector<float> values = Values(count, static_cast<unsigned>(count), plain);
          const bool rounded = smallest_normal > 0;
          ValueOptions options = {smallest_normal, true, rounded, {}};
          ValueSums fast, slow;
          for (int again = 0; again < 2; ++again) {  // sums go on where the first call was of whole rounds
            AddFloats(values.data(), count - count % 16, options, fast);
            AddFloatsPlain(values.data(), count - count % 16, options, slow);
          }
          std::vector<std::uint64_t> quick(3 * count), plainly(3 * count);
          const auto parts = [&](std::vector<std::uint64_t>& all) {
            return ValueMixes{all.data(), rounded ? all.data() + count : nullptr,
                              rounded ? all.data() + 2 * count : nullptr};
          };
          options.mixes = parts(quick);
          AddFloats(values.data(), count, options, fast);
          options.mixes = parts(plainly);
          AddFloatsPlain(values.data(), count, options, slow);
          EXPECT_EQ(quick, plainly);
          const auto third = plainly.end() - static_cast<std::ptrdiff_t>(count);
          const bool any = std::any_of(third, plainly.end(), [](std::uint64_t mix) { return mix != 0; });
          EXPECT_TRUE(count < 4096 || any == rounded);
          ExpectSame(fast, slow, std::string(hwy::TargetName(target)) + " " + std::to_string(count));
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(ValueSums, HashesOnlyWhereAskedFor) {
  const std::vector<float> values = Values(64, 1, true);
  ValueSums sums;
  AddFloats(values.data(), values.size(), {0, false, false, {}}, sums);
  EXPECT_EQ(sums.values.low, 0U);
  EXPECT_EQ(sums.elements, 64U);
}

}  // namespace
}  // namespace paritect
