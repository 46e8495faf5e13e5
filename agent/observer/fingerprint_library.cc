#include "agent/observer/fingerprint_library.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "formats/weights/dtype.h"
#include "formats/weights/sketch.h"
#include "formats/weights/value_histogram.h"
#include "formats/weights/value_sums.h"
#include "formats/weights/widen.h"

namespace paritect {
namespace {

constexpr std::size_t kPieceValues = 4096;  // a multiple of the lanes; stays in the first cache

struct NamedType {
  const char* word;
  DType type;
};
constexpr NamedType kTypes[] = {{"BOOL", DType::kBool},
                                {"U8", DType::kU8},
                                {"I8", DType::kI8},
                                {"I16", DType::kI16},
                                {"U16", DType::kU16},
                                {"F16", DType::kF16},
                                {"BF16", DType::kBF16},
                                {"I32", DType::kI32},
                                {"U32", DType::kU32},
                                {"F32", DType::kF32},
                                {"I64", DType::kI64},
                                {"U64", DType::kU64},
                                {"F64", DType::kF64},
                                {"C64", DType::kC64},
                                {"C128", DType::kC128},
                                {"F8_E4M3", DType::kF8E4M3},
                                {"F8_E5M2", DType::kF8E5M2},
                                {"F8_E4M3FNUZ", DType::kF8E4M3Fnuz},
                                {"F8_E5M2FNUZ", DType::kF8E5M2Fnuz}};

const NamedType* FindType(const char* word) {
  for (const NamedType& one : kTypes) {
    if (strcmp(one.word, word) == 0) return &one;
  }
  return nullptr;
}

// Everything that one call adds up.
class Summer {
 public:
  Summer(DType type, bool difference, std::uint32_t wanted)
      : type_(type), form_(ValueFormOf(type)), difference_(difference), wanted_(wanted) {
    options_.smallest_normal = form_.smallest_normal;
    options_.hashes = (wanted & kParitectValues) != 0;
    options_.rounded_hashes = (wanted & kParitectRounded) != 0 && type == DType::kF32 && !difference;
  }

  bool HasValues() const { return form_.as != ValueForm::As::kNone; }
  std::size_t ElementBytes() const {
    return static_cast<std::size_t>(form_.value_bytes) * static_cast<std::size_t>(form_.values_per_element);
  }

  void Add(const char* data, const char* before, std::uint64_t elements) {
    const std::size_t width = static_cast<std::size_t>(form_.value_bytes);
    std::uint64_t values = elements * static_cast<std::uint64_t>(form_.values_per_element);
    while (values > 0) {
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceValues, values));
      if (form_.as == ValueForm::As::kFloat) {
        AddFloatPiece(data, before, count);
      } else {
        AddDoublePiece(data, before, count);
      }
      data += count * width;
      if (before != nullptr) before += count * width;
      values -= count;
    }
  }

  void Finish(ParitectFingerprint& result) {
    const std::uint64_t finite = sums_.elements - sums_.nan - sums_.positive_infinity - sums_.negative_infinity;
    result.min = finite > 0 ? sums_.min + 0.0 : 0;  // + 0.0: one zero
    result.max = finite > 0 ? sums_.max + 0.0 : 0;
    result.sum = CombineLanes(sums_.sum);
    result.sum_of_squares = CombineLanes(sums_.squares);
    result.sum_of_fourths = CombineLanes(sums_.fourths);
    result.finite = finite;
    result.nan = sums_.nan;
    result.positive_infinity = sums_.positive_infinity;
    result.negative_infinity = sums_.negative_infinity;
    result.zero = sums_.zero;
    result.negative_zero = sums_.negative_zero;
    result.subnormal = sums_.subnormal;
    SetHash(sums_.values, result.values);
    SetHash(sums_.as_bf16, result.values_as_bf16);
    SetHash(sums_.as_fp16, result.values_as_fp16);
    for (const double place : sketcher_.Finish()) {
      if (wanted_ & kParitectSketch) result.sketch[result.sketch_places++] = place;
    }
    histogram_.ForEachBin([&](std::size_t bin, std::uint64_t number) {
      result.bins[result.histogram_bins] = static_cast<std::uint32_t>(bin);
      result.counts[result.histogram_bins++] = number;
    });
  }

 private:
  static void SetHash(const HashSums& sums, std::uint64_t (&hash)[2]) {
    hash[0] = sums.low;
    hash[1] = sums.high;
  }

  void AddFloatPiece(const char* data, const char* before, std::size_t count) {
    WidenToFloat(type_, data, count, floats_);
    if (difference_) {
      WidenToFloat(type_, before, count, others_);
      for (std::size_t i = 0; i < count; ++i) {
        floats_[i] = static_cast<float>(static_cast<double>(floats_[i]) - static_cast<double>(others_[i]));
      }
    }
    AddFloats(floats_, count, options_, sums_);
    if (wanted_ & kParitectSketch) sketcher_.Add(floats_, count);
    if (wanted_ & kParitectHistogram) histogram_.Add(floats_, count);
  }

  void AddDoublePiece(const char* data, const char* before, std::size_t count) {
    WidenToDouble(type_, data, count, doubles_);
    if (difference_) {
      WidenToDouble(type_, before, count, other_doubles_);
      for (std::size_t i = 0; i < count; ++i) doubles_[i] -= other_doubles_[i];
    }
    AddDoubles(doubles_, count, options_, sums_);
    if (wanted_ & kParitectSketch) sketcher_.Add(doubles_, count);
    if (wanted_ & kParitectHistogram) {
      for (std::size_t i = 0; i < count; ++i) floats_[i] = static_cast<float>(doubles_[i]);
      histogram_.Add(floats_, count);
    }
  }

  const DType type_;
  const ValueForm form_;
  const bool difference_;
  const std::uint32_t wanted_;
  ValueOptions options_;
  ValueSums sums_;
  Sketcher sketcher_;
  ValueHistogram histogram_;
  alignas(64) float floats_[kPieceValues];
  alignas(64) float others_[kPieceValues];
  alignas(64) double doubles_[kPieceValues];
  alignas(64) double other_doubles_[kPieceValues];
};

double ValueAt(DType type, const ValueForm& form, const char* data, std::uint64_t place) {
  const char* at = data + place * static_cast<std::uint64_t>(form.value_bytes);
  if (form.as == ValueForm::As::kFloat) {
    float value;
    WidenToFloat(type, at, 1, &value);
    return static_cast<double>(value);
  }
  double value;
  WidenToDouble(type, at, 1, &value);
  return value;
}

}  // namespace
}  // namespace paritect

int paritect_fingerprint(const char* type, const void* data, const void* before, uint64_t elements, uint32_t wanted,
                         ParitectFingerprint* result) {
  using paritect::Summer;
  memset(result, 0, sizeof *result);
  const auto* named = paritect::FindType(type);
  if (named == nullptr) return 1;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(Summer), sizeof(Summer)) != 0) return 2;
  Summer* summer = new (memory) Summer(named->type, before != nullptr, wanted);
  const bool readable = summer->HasValues();
  if (readable && before == nullptr && (wanted & kParitectDigest)) {
    paritect_digest(data, elements * summer->ElementBytes(), result->xxh3);
  }
  if (readable && (wanted & ~static_cast<uint32_t>(kParitectDigest))) {
    summer->Add(static_cast<const char*>(data), static_cast<const char*>(before), elements);
    summer->Finish(*result);
  }
  summer->~Summer();
  free(memory);
  return readable ? 0 : 1;
}

int64_t paritect_sampled(const char* type, const void* data, uint64_t elements, double values[4096]) {
  const auto* named = paritect::FindType(type);
  if (named == nullptr) return -1;
  const auto form = paritect::ValueFormOf(named->type);
  if (form.as == paritect::ValueForm::As::kNone) return -1;
  int64_t count = 0;
  const std::uint64_t all = elements * static_cast<std::uint64_t>(form.values_per_element);
  for (const std::uint64_t place : paritect::SignPlaces(all)) {
    values[count++] = paritect::ValueAt(named->type, form, static_cast<const char*>(data), place);
  }
  return count;
}

void paritect_digest(const void* bytes, uint64_t size, uint64_t result[2]) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  result[0] = hash.high64;
  result[1] = hash.low64;
}

uint32_t paritect_observe_version(void) {
  return 1;
}
