// CRC-32C (Castagnoli), the checksum of iSCSI, by ISA-L: carry-less multiplication where the processor has it.
#ifndef PARITECT_COMMON_CRC32C_H_
#define PARITECT_COMMON_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace paritect {

// Extends the checksum `crc` of what came before (0 for nothing) by `bytes`. Crc32c(0, "123456789") is 0xE3069283.
std::uint32_t Crc32c(std::uint32_t crc, absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_COMMON_CRC32C_H_
