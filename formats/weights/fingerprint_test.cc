#include "formats/weights/fingerprint.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "formats/weights/value_sums.h"

namespace paritect {
namespace {

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// In blocks of `block` bytes.
v1::TensorFingerprint Print(DType type, const std::string& bytes, std::size_t block = 1 << 18,
                            const FingerprintOptions& options = {}) {
  const auto fingerprinter = NewTensorFingerprinter(type, options);
  for (std::size_t at = 0; at < bytes.size(); at += block)
    fingerprinter->Add(absl::string_view(bytes).substr(at, block));
  return fingerprinter->Finish();
}

std::vector<float> Normal(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> law(0, 0.02F);
  std::vector<float> values(count);
  for (float& value : values) value = law(random);
  return values;
}

std::uint16_t Bf16Of(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool Same(const v1::ValueHash& a, const v1::ValueHash& b) {
  return a.low() == b.low() && a.high() == b.high();
}

TEST(Fingerprint, DigestsAreThoseOfTheBytes) {
  // sha256sum and md5sum of the four bytes of 1.0f.
  const v1::TensorFingerprint tensor =
      Print(DType::kF32, BytesOf<float>({1.0F}), 4, {.sha256 = true, .md5 = true, .values = true});
  EXPECT_EQ(tensor.sha256(), "e00e5eb9444182f352323374ef4e08ebcb784725fdd4fd612d7730540b3e0c8c");
  EXPECT_EQ(tensor.md5(), "429d81ed2795e3c586906c6c335aa136");
  EXPECT_EQ(tensor.xxh3().size(), 32U);
  EXPECT_EQ(Print(DType::kF32, "").xxh3(), "99aa06d3014798d86001c324468d497f");  // XXH3_128bits of nothing
  EXPECT_EQ(tensor.chunk_xxh3_size(), 0);
}

TEST(Fingerprint, BlocksOfAnySizeGiveTheSameBits) {
  const std::string bytes = BytesOf(Normal(100'003));
  const v1::TensorFingerprint whole = Print(DType::kF32, bytes);
  for (const std::size_t block : {4U, 12U, 64U, 4096U + 8U, 65536U}) {
    EXPECT_EQ(Print(DType::kF32, bytes, block).SerializeAsString(), whole.SerializeAsString()) << block;
  }
}

// The first one's hash comes from the state of the whole, the second one's from a state of its own.
TEST(Fingerprint, EqualChunksHaveEqualHashes) {
  const std::string chunk = BytesOf(Normal(1 << 20));
  for (const std::size_t block : {std::size_t{1} << 18, std::size_t{12'000}, 3 * chunk.size()}) {
    const v1::TensorFingerprint tensor = Print(DType::kF32, chunk + chunk + "tail", block);
    ASSERT_EQ(tensor.chunk_xxh3_size(), 3);
    EXPECT_EQ(tensor.chunk_xxh3(0), tensor.chunk_xxh3(1)) << block;
    EXPECT_NE(tensor.chunk_xxh3(0), tensor.chunk_xxh3(2));
  }
  EXPECT_EQ(Print(DType::kF32, chunk).chunk_xxh3_size(), 0);
}

TEST(Fingerprint, StatisticsAreExact) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, -2, 3, 0, -0.0F, inf, -inf, std::nanf(""), 1e-40F};
  const v1::TensorStatistics got = Print(DType::kF32, BytesOf(values)).statistics();
  EXPECT_EQ(got.min(), -2);
  EXPECT_EQ(got.max(), 3);
  EXPECT_EQ(got.sum(), 2 + static_cast<double>(1e-40F));
  EXPECT_EQ(got.sum_of_squares(), 14);
  EXPECT_EQ(got.sum_of_fourths(), 98);
  EXPECT_EQ(got.finite(), 6U);
  EXPECT_EQ(got.nan(), 1U);
  EXPECT_EQ(got.positive_infinity(), 1U);
  EXPECT_EQ(got.negative_infinity(), 1U);
  EXPECT_EQ(got.zero(), 2U);
  EXPECT_EQ(got.negative_zero(), 1U);
  EXPECT_EQ(got.subnormal(), 1U);
}

TEST(Fingerprint, SubnormalsAreThoseOfTheTensorsOwnType) {
  EXPECT_EQ(Print(DType::kF16, BytesOf<std::uint16_t>({0x0001, 0x03FF, 0x0400, 0x8001})).statistics().subnormal(), 3U);
  EXPECT_EQ(Print(DType::kF32, BytesOf<float>({0x1p-24F})).statistics().subnormal(), 0U);
  EXPECT_EQ(Print(DType::kF8E4M3, std::string("\x07\x08", 2)).statistics().subnormal(), 1U);
}

TEST(Fingerprint, LayoutDoesNotChangeTheValueHash) {
  std::vector<float> values = Normal(1000);
  const v1::TensorFingerprint a = Print(DType::kF32, BytesOf(values));
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  const v1::TensorFingerprint b = Print(DType::kF32, BytesOf(values));
  EXPECT_TRUE(Same(a.values(), b.values()));
  EXPECT_NE(a.xxh3(), b.xxh3());
  values[3] = std::nextafter(values[3], 1.0F);
  EXPECT_FALSE(Same(a.values(), Print(DType::kF32, BytesOf(values)).values()));
}

TEST(Fingerprint, PartsAddUpAndPaddingAddsNothing) {
  const std::vector<float> values = Normal(1000);
  const std::vector<float> first(values.begin(), values.begin() + 300);
  std::vector<float> second(values.begin() + 300, values.end());
  second.resize(5000);  // zeros
  const auto whole = Print(DType::kF32, BytesOf(values)).values();
  const auto a = Print(DType::kF32, BytesOf(first)).values();
  const auto b = Print(DType::kF32, BytesOf(second)).values();
  EXPECT_EQ(whole.low(), a.low() + b.low());
  EXPECT_EQ(whole.high(), a.high() + b.high());
}

TEST(Fingerprint, WideningKeepsValuesAndNarrowingIsForeseen) {
  const std::vector<float> values = Normal(5000);
  std::vector<std::uint16_t> narrow;
  std::vector<float> rounded;
  std::vector<double> wide;
  for (const float value : values) {
    narrow.push_back(Bf16Of(value));
    rounded.push_back(std::bit_cast<float>(std::uint32_t{narrow.back()} << 16));
    wide.push_back(value);
  }
  const v1::TensorFingerprint original = Print(DType::kF32, BytesOf(values));
  const v1::TensorFingerprint bf16 = Print(DType::kBF16, BytesOf(narrow));
  EXPECT_TRUE(Same(original.values_as_bf16(), bf16.values()));
  EXPECT_FALSE(Same(original.values(), bf16.values()));
  EXPECT_TRUE(Same(bf16.values(), Print(DType::kF32, BytesOf(rounded)).values()));
  EXPECT_TRUE(Same(original.values(), Print(DType::kF64, BytesOf(wide)).values()));
  EXPECT_FALSE(bf16.has_values_as_bf16());
}

// Each of the 65536 values of fp16, rounded to itself; and what lies between two of them goes to the even one.
TEST(Fingerprint, EveryFp16ValueIsReadAndRoundedRight) {
  std::vector<float> between;
  std::vector<std::uint16_t> expected;
  for (std::uint32_t i = 0; i < 0x7BFF; ++i) {
    const auto at = [](std::uint32_t half) {
      const int exponent = static_cast<int>(half >> 10);
      const int mantissa = static_cast<int>(half & 0x3FF);
      return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                           : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    };
    if (i % 97 == 0) {
      const std::string bytes = BytesOf<std::uint16_t>({static_cast<std::uint16_t>(i)});
      EXPECT_EQ(Print(DType::kF16, bytes).statistics().sum(), at(i)) << i;
    }
    between.push_back((at(i) + at(i + 1)) / 2);
    expected.push_back(static_cast<std::uint16_t>(i + (i & 1)));
    between.push_back(std::nextafter(between.back(), 1e9F));
    expected.push_back(static_cast<std::uint16_t>(i + 1));
  }
  between.push_back(65520);
  expected.push_back(0x7C00);
  EXPECT_TRUE(
      Same(Print(DType::kF32, BytesOf(between)).values_as_fp16(), Print(DType::kF16, BytesOf(expected)).values()));
}

TEST(Fingerprint, IntegersAndBooleansHaveValues) {
  EXPECT_TRUE(Same(Print(DType::kI64, BytesOf<std::int64_t>({3, -5, 0})).values(),
                   Print(DType::kI32, BytesOf<std::int32_t>({-5, 3, 0})).values()));
  EXPECT_TRUE(
      Same(Print(DType::kI8, BytesOf<std::int8_t>({3})).values(), Print(DType::kF32, BytesOf<float>({3})).values()));
  EXPECT_FALSE(Same(Print(DType::kI64, BytesOf<std::int64_t>({(1LL << 40) + 1})).values(),
                    Print(DType::kI64, BytesOf<std::int64_t>({1LL << 40})).values()));
  EXPECT_EQ(Print(DType::kBool, std::string("\1\0\1", 3)).statistics().sum(), 2);
}

TEST(Fingerprint, QuantisedBlocksAreHashedOnly) {
  const v1::TensorFingerprint tensor = Print(DType::kBlocks, "0123456789abcdef01");
  EXPECT_EQ(tensor.xxh3().size(), 32U);
  EXPECT_FALSE(tensor.has_statistics());
  EXPECT_FALSE(tensor.has_values());
}

TEST(Fingerprint, ChunksLocateWhatDiffers) {
  std::string bytes(std::size_t{9} << 20, '\1');
  const v1::TensorFingerprint a = Print(DType::kU8, bytes);
  bytes[std::size_t{5} << 20] = 2;
  const v1::TensorFingerprint b = Print(DType::kU8, bytes);
  ASSERT_EQ(a.chunk_xxh3_size(), 3);
  EXPECT_EQ(a.chunk_xxh3(0), b.chunk_xxh3(0));
  EXPECT_NE(a.chunk_xxh3(1), b.chunk_xxh3(1));
  EXPECT_EQ(a.chunk_xxh3(2), b.chunk_xxh3(2));
}

TEST(Fingerprint, HistogramCountsEveryElementOnce) {
  const v1::ValueHistogram histogram = Print(DType::kF32, BytesOf<float>({1, 1, 1.5F, -1, 0})).histogram();
  ASSERT_EQ(histogram.bins_size(), 4);
  EXPECT_EQ(histogram.bins(0), 0U);
  EXPECT_EQ(histogram.bins(1), 0x3F8U);
  EXPECT_EQ(histogram.counts(1), 2U);
  EXPECT_EQ(histogram.bins(2), 0x3FCU);
  EXPECT_EQ(histogram.bins(3), 0xBF8U);
}

// A mix whose sums are to tell sets apart must not repeat itself, nor be nearly linear.
TEST(ValueMix, DoesNotCollideAndIsNotLinear) {
  std::unordered_set<std::uint64_t> low, high;
  for (std::uint32_t i = 1; i <= 1'000'000; ++i) {
    const HashSums mix = MixOf(i * 4093);
    low.insert(mix.low);
    high.insert(mix.high);
  }
  EXPECT_EQ(low.size(), 1'000'000U);
  EXPECT_EQ(high.size(), 1'000'000U);
  // {a, d} and {b, c} with a + d = b + c, as neighbouring values are.
  int equal = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint32_t a = 0x3C000000 + i * 7;
    const HashSums p = MixOf(a), q = MixOf(a + 3), r = MixOf(a + 1), s = MixOf(a + 2);
    equal += p.low + q.low == r.low + s.low;
    equal += p.high + q.high == r.high + s.high;
  }
  EXPECT_EQ(equal, 0);
  EXPECT_EQ(MixOf(0).low, 0U);
  EXPECT_EQ(MixOf(0).high, 0U);
}

class MemorySource : public TensorSource {
 public:
  void Add(TensorInfo info, std::string bytes) {
    tensors_.push_back(std::move(info));
    bytes_.push_back(std::move(bytes));
  }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  absl::Status Read(std::size_t index, absl::FunctionRef<absl::Status(absl::string_view)> sink) override {
    if (bytes_[index] == "cut") return absl::DataLossError("the file ends before " + tensors_[index].name);
    return sink(bytes_[index]);
  }
  const v1::Weights& about() const override { return about_; }
  v1::Weights about_;

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> bytes_;
};

TEST(FingerprintWeights, GivesWhatTheSourceHolds) {
  MemorySource source;
  source.about_.set_format("safetensors");
  source.Add({.name = "a", .dtype = DType::kF32, .shape = {2}}, BytesOf<float>({1, 2}));
  source.Add({.name = "tied", .dtype = DType::kF32, .shape = {2}, .alias_of = "a"}, "");
  source.Add({.name = "odd", .dtype = DType::kF32, .unreadable = "a type without a plain form"}, "");
  const auto weights = FingerprintWeights(source, {});
  ASSERT_TRUE(weights.ok());
  ASSERT_EQ(weights->tensors_size(), 3);
  EXPECT_EQ(weights->format(), "safetensors");
  EXPECT_EQ(weights->tensors(1).xxh3(), weights->tensors(0).xxh3());
  EXPECT_EQ(weights->tensors(1).alias_of(), "a");
  EXPECT_EQ(weights->tensors(1).shape_size(), 1);
  EXPECT_EQ(weights->tensors(2).problem().id(), "tensor_not_read");
  EXPECT_TRUE(weights->tensors(2).xxh3().empty());
}

// Sizes that differ, so that threads take tensors in another order than the list's; the last is another's alias.
MemorySource ManyTensors(const std::string& cut = "") {
  MemorySource source;
  for (int i = 0; i < 24; ++i) {
    const std::string name = absl::StrCat("w", i);
    const std::int64_t elements = 1000 * (1 + i * 7 % 24);
    // What a list states decides how many threads are worth it.
    source.Add({.name = name, .dtype = DType::kF32, .shape = {elements}, .bytes = std::uint64_t{4} << 20},
               name == cut ? "cut"
                           : BytesOf<float>(
                                 std::vector<float>(static_cast<std::size_t>(elements), 0.5F * static_cast<float>(i))));
  }
  source.Add({.name = "tied", .dtype = DType::kF32, .shape = {1000}, .alias_of = "w0"}, "");
  return source;
}

TEST(FingerprintWeights, ThreadsChangeNothing) {
  MemorySource source = ManyTensors();
  std::string whole[2];
  std::atomic<int> opened = 0;
  for (const int threads : {1, 4}) {
    std::size_t bytes = 0;
    std::set<std::string> kept;
    const auto weights =
        FingerprintWeights(source, {},
                           {.keep_places =
                                [](const TensorInfo&) {
                                  return std::vector<std::uint64_t>{0, 999};
                                },
                            .kept =
                                [&](const TensorInfo& info, const std::vector<double>& values) {
                                  if (values.size() == 2) kept.insert(info.name);
                                },
                            .read = [&](std::size_t more) { bytes += more; }},
                           {.count = threads, .open = [&]() -> absl::StatusOr<std::unique_ptr<TensorSource>> {
                              ++opened;
                              return std::make_unique<MemorySource>(ManyTensors());
                            }});
    ASSERT_TRUE(weights.ok()) << weights.status();
    whole[threads > 1] = weights->SerializeAsString();
    EXPECT_EQ(weights->tensors(24).alias_of(), "w0");
    EXPECT_EQ(kept.size(), 24U);
    EXPECT_GT(bytes, 0U);
  }
  EXPECT_EQ(whole[0], whole[1]);
  EXPECT_LE(opened, 3) << "the first source is used too";
}

// Each source opens all of them.
TEST(FingerprintWeights, OfManyFilesFewSourcesAreOpened) {
  MemorySource source;
  for (int i = 0; i < 600; ++i) {
    source.Add({.name = absl::StrCat("w", i),
                .dtype = DType::kF32,
                .shape = {2},
                .bytes = std::uint64_t{4} << 20,
                .file = absl::StrCat("rank", i)},
               BytesOf<float>({1, 2}));
  }
  std::atomic<int> opened = 0;
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<TensorSource>> {
    ++opened;
    return std::make_unique<MemorySource>(source);
  };
  EXPECT_TRUE(FingerprintWeights(source, {}, {}, {.count = 8, .open = open}).ok());
  EXPECT_EQ(opened, 0);
}

TEST(FingerprintWeights, OfSeveralErrorsTheFirstInTheListCounts) {
  MemorySource source;
  for (const auto& [name, mib] : {std::pair("a", 16), std::pair("b", 32), std::pair("c", 64), std::pair("d", 128)}) {
    const bool cut = mib == 32 || mib == 128;  // the last is read first
    source.Add({.name = name, .dtype = DType::kF32, .shape = {2}, .bytes = static_cast<std::uint64_t>(mib) << 20},
               cut ? "cut" : BytesOf<float>({1, 2}));
  }
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<TensorSource>> {
    return std::make_unique<MemorySource>(source);
  };
  for (const int threads : {1, 4}) {
    const auto weights = FingerprintWeights(source, {}, {}, {.count = threads, .open = open});
    EXPECT_EQ(weights.status().message(), "the file ends before b") << threads;
  }
}

// Its first reader waits until another thread has opened the checkpoint again, and found other tensors.
class WaitingSource : public MemorySource {
 public:
  absl::Status Read(std::size_t index, absl::FunctionRef<absl::Status(absl::string_view)> sink) override {
    opened_again.WaitForNotification();
    return MemorySource::Read(index, sink);
  }
  absl::Notification opened_again;
};

TEST(FingerprintWeights, ACheckpointThatIsWrittenMeanwhile) {
  WaitingSource source;
  for (const char* name : {"a", "b"}) {
    source.Add({.name = name, .dtype = DType::kF32, .shape = {2}, .bytes = std::uint64_t{64} << 20},
               BytesOf<float>({1, 2}));
  }
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<TensorSource>> {
    source.opened_again.Notify();
    return std::make_unique<MemorySource>(MemorySource());
  };
  const auto weights = FingerprintWeights(source, {}, {}, {.count = 2, .open = open});
  EXPECT_NE(weights.status().message().find("written while it was read"), std::string::npos) << weights.status();
}

TEST(FingerprintWeights, AFileThatEndsIsAnError) {
  MemorySource source;
  source.Add({.name = "a", .dtype = DType::kF32, .shape = {2}}, "cut");
  EXPECT_EQ(FingerprintWeights(source, {}).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paritect
