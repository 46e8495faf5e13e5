// Types of tensor elements; the words are those of safetensors.
#ifndef PARITECT_FORMATS_WEIGHTS_DTYPE_H_
#define PARITECT_FORMATS_WEIGHTS_DTYPE_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace paritect {

enum class DType {
  kBool, kU8, kI8, kF8E4M3, kF8E5M2, kF8E8M0, kF8E4M3Fnuz, kF8E5M2Fnuz, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kF64,
  kI64, kU64, kC64, kC128, kF4, kF6E2M3, kF6E3M2,
  kBlocks  // quantised blocks: bytes that are hashed and not interpreted
};

absl::string_view DTypeWord(DType type);  // "F32"; "" for kBlocks
std::optional<DType> DTypeOfWord(absl::string_view word);
int DTypeBits(DType type);  // of one element; 8 for kBlocks

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_DTYPE_H_
