#include "formats/weights/dtype.h"

#include "absl/base/macros.h"

namespace paritect {
namespace {

struct Entry {
  absl::string_view word;
  int bits;
};

// In the enumeration's order. Source: huggingface/safetensors, safetensors/src/tensor.rs (Dtype::bitsize).
constexpr Entry kEntries[] = {
    {"BOOL", 8},        {"U8", 8},   {"I8", 8},  {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},   {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32},        {"F64", 64}, {"I64", 64}, {"U64", 64},   {"C64", 64},    {"C128", 128},  {"F4", 4},
    {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"", 8},
};
static_assert(ABSL_ARRAYSIZE(kEntries) == static_cast<int>(DType::kBlocks) + 1);

}  // namespace

absl::string_view DTypeWord(DType type) { return kEntries[static_cast<int>(type)].word; }

std::optional<DType> DTypeOfWord(absl::string_view word) {
  if (word.empty()) return std::nullopt;
  for (int i = 0; i < static_cast<int>(DType::kBlocks); ++i) {
    if (kEntries[i].word == word) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int DTypeBits(DType type) { return kEntries[static_cast<int>(type)].bits; }

}  // namespace paritect
