// Cyclic checksums by ISA-L: carry-less multiplication where the processor has it.
#ifndef PARITECT_COMMON_CRC_H_
#define PARITECT_COMMON_CRC_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace paritect {

// Each extends the checksum `crc` of what came before (0 for nothing) by `bytes`.

// CRC-32 of ZIP, gzip and PNG. Crc32(0, "123456789") is 0xCBF43926.
std::uint32_t Crc32(std::uint32_t crc, absl::string_view bytes);

// CRC-32C (Castagnoli) of iSCSI, TFRecord and snappy. Crc32c(0, "123456789") is 0xE3069283.
std::uint32_t Crc32c(std::uint32_t crc, absl::string_view bytes);

// CRC-32C of `bytes` as TFRecord stores it: turned and shifted, so that a checksum of data that holds checksums stays
// sound. Source: TensorFlow, tensorflow/core/lib/hash/crc32c.h.
std::uint32_t MaskedCrc32c(absl::string_view bytes);
std::uint32_t MaskCrc32c(std::uint32_t crc);  // of one that is already computed

}  // namespace paritect

#endif  // PARITECT_COMMON_CRC_H_
