#include "agent/observer/fingerprint_library.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "formats/weights/fingerprint.h"
#include "formats/weights/sketch.h"

namespace paritect {
namespace {

constexpr std::uint32_t kAll =
    kParitectDigest | kParitectValues | kParitectRounded | kParitectSketch | kParitectHistogram;

// Any bits: numbers of every size, subnormals, infinities, NaN, both zeros.
std::string RandomElements(DType type, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(count * static_cast<std::size_t>(DTypeBits(type)) / 8, '\0');
  for (char& byte : bytes) byte = static_cast<char>(type == DType::kBool ? random() & 1 : random());
  if (bytes.size() > 64) std::memset(bytes.data(), 0, 16);
  return bytes;
}

v1::TensorFingerprint ByTheProduct(DType type, const std::string& bytes) {
  auto fingerprinter = NewTensorFingerprinter(type, {});
  fingerprinter->Add(bytes);
  return fingerprinter->Finish();
}

void ExpectSame(const v1::TensorFingerprint& expected, const ParitectFingerprint& actual) {
  EXPECT_EQ(expected.xxh3(), absl::StrFormat("%016x%016x", actual.xxh3[0], actual.xxh3[1]));
  EXPECT_EQ(expected.values().low(), actual.values[0]);
  EXPECT_EQ(expected.values().high(), actual.values[1]);
  EXPECT_EQ(expected.values_as_bf16().low(), actual.values_as_bf16[0]);
  EXPECT_EQ(expected.values_as_bf16().high(), actual.values_as_bf16[1]);
  EXPECT_EQ(expected.values_as_fp16().low(), actual.values_as_fp16[0]);
  EXPECT_EQ(expected.values_as_fp16().high(), actual.values_as_fp16[1]);
  const v1::TensorStatistics& statistics = expected.statistics();
  EXPECT_EQ(statistics.min(), actual.min);
  EXPECT_EQ(statistics.max(), actual.max);
  EXPECT_EQ(statistics.sum(), actual.sum);
  EXPECT_EQ(statistics.sum_of_squares(), actual.sum_of_squares);
  EXPECT_EQ(statistics.sum_of_fourths(), actual.sum_of_fourths);
  EXPECT_EQ(statistics.finite(), actual.finite);
  EXPECT_EQ(statistics.nan(), actual.nan);
  EXPECT_EQ(statistics.positive_infinity(), actual.positive_infinity);
  EXPECT_EQ(statistics.negative_infinity(), actual.negative_infinity);
  EXPECT_EQ(statistics.zero(), actual.zero);
  EXPECT_EQ(statistics.negative_zero(), actual.negative_zero);
  EXPECT_EQ(statistics.subnormal(), actual.subnormal);
  ASSERT_EQ(static_cast<std::uint64_t>(expected.sketch_size()), actual.sketch_places);
  for (int i = 0; i < expected.sketch_size(); ++i) EXPECT_EQ(expected.sketch(i), actual.sketch[i]);
  ASSERT_EQ(static_cast<std::uint64_t>(expected.histogram().bins_size()), actual.histogram_bins);
  for (int i = 0; i < expected.histogram().bins_size(); ++i) {
    EXPECT_EQ(expected.histogram().bins(i), actual.bins[i]);
    EXPECT_EQ(expected.histogram().counts(i), actual.counts[i]);
  }
}

TEST(FingerprintLibrary, GivesWhatTheProductGivesOfCheckpoints) {
  const std::pair<const char*, DType> types[] = {
      {"BOOL", DType::kBool}, {"U8", DType::kU8},   {"I8", DType::kI8},         {"F16", DType::kF16},
      {"BF16", DType::kBF16}, {"F32", DType::kF32}, {"F64", DType::kF64},       {"I32", DType::kI32},
      {"I64", DType::kI64},   {"C64", DType::kC64}, {"F8_E4M3", DType::kF8E4M3}};
  for (const auto& [word, type] : types) {
    for (const std::size_t count : {0, 1, 15, 16, 17, 1000, 4096, 10007}) {
      SCOPED_TRACE(absl::StrFormat("%s, %d elements", word, count));
      const std::string bytes = RandomElements(type, count, static_cast<unsigned>(count) + 3);
      auto actual = std::make_unique<ParitectFingerprint>();
      ASSERT_EQ(paritect_fingerprint(word, bytes.data(), nullptr, count, kAll, actual.get()), 0);
      ExpectSame(ByTheProduct(type, bytes), *actual);
    }
  }
}

TEST(FingerprintLibrary, OfADifferenceGivesWhatTheDifferenceHas) {
  std::vector<float> before(1000), after(1000), difference(1000);
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i] = static_cast<float>(i) * 0.5F;
    after[i] = before[i] + (i % 3 == 0 ? 0.0F : 0.25F);
    difference[i] = after[i] - before[i];
  }
  auto actual = std::make_unique<ParitectFingerprint>();
  ASSERT_EQ(
      paritect_fingerprint("F32", after.data(), before.data(), 1000, kParitectValues | kParitectSketch, actual.get()),
      0);
  const std::string bytes(reinterpret_cast<const char*>(difference.data()), 4000);
  const v1::TensorFingerprint expected = ByTheProduct(DType::kF32, bytes);
  EXPECT_EQ(expected.values().low(), actual->values[0]);
  EXPECT_EQ(expected.statistics().sum_of_squares(), actual->sum_of_squares);
  EXPECT_EQ(actual->zero, 334U);
  EXPECT_EQ(expected.sketch(5), actual->sketch[5]);
  EXPECT_EQ(actual->xxh3[0] | actual->xxh3[1], 0U);
}

TEST(FingerprintLibrary, SamplesThePlacesOfSigns) {
  std::vector<float> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::vector<double> sampled(4096);
  const std::vector<std::uint64_t> places = SignPlaces(10000);
  ASSERT_EQ(paritect_sampled("F32", values.data(), 10000, sampled.data()), static_cast<std::int64_t>(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(sampled[i], static_cast<double>(places[i]));
}

TEST(FingerprintLibrary, RefusesTypesThatItDoesNotKnow) {
  auto actual = std::make_unique<ParitectFingerprint>();
  double values[4096];
  EXPECT_EQ(paritect_fingerprint("Q8_0", "", nullptr, 0, kAll, actual.get()), 1);
  EXPECT_EQ(paritect_fingerprint("", "", nullptr, 0, kAll, actual.get()), 1);
  EXPECT_EQ(paritect_sampled("F4", "", 0, values), -1);
}

}  // namespace
}  // namespace paritect
