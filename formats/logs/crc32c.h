// CRC-32C (Castagnoli), as TFRecord uses it.
#ifndef PARITECT_FORMATS_LOGS_CRC32C_H_
#define PARITECT_FORMATS_LOGS_CRC32C_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace paritect {

inline std::uint32_t Crc32c(absl::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0x82F63B78U ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFU;
}

// TFRecord masks its checksums so that a CRC of data that holds CRCs stays sound.
inline std::uint32_t MaskedCrc32c(absl::string_view bytes) {
  const std::uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_CRC32C_H_
