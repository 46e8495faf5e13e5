// CRC-32C (Castagnoli), as TFRecord uses it.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_CRC32C_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_CRC32C_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace paritect {

inline std::uint32_t Crc32c(absl::string_view bytes) {
  // Eight bytes at a time: kTables[k] is a byte's share with k bytes behind it.
  static constexpr auto kTables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0x82F63B78U ^ (c >> 1) : c >> 1;
      tables[0][i] = c;
    }
    for (std::size_t k = 1; k < 8; ++k) {
      for (std::size_t i = 0; i < 256; ++i) {
        tables[k][i] = tables[0][tables[k - 1][i] & 0xFF] ^ (tables[k - 1][i] >> 8);
      }
    }
    return tables;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = p + bytes.size();
  for (; end - p >= 8; p += 8) {
    crc = kTables[7][(crc ^ p[0]) & 0xFF] ^ kTables[6][(crc >> 8 ^ p[1]) & 0xFF] ^
          kTables[5][(crc >> 16 ^ p[2]) & 0xFF] ^ kTables[4][crc >> 24 ^ p[3]] ^ kTables[3][p[4]] ^ kTables[2][p[5]] ^
          kTables[1][p[6]] ^ kTables[0][p[7]];
  }
  for (; p != end; ++p) crc = kTables[0][(crc ^ *p) & 0xFF] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFU;
}

// TFRecord masks its checksums so that a CRC of data that holds CRCs stays sound.
inline std::uint32_t MaskedCrc32c(absl::string_view bytes) {
  const std::uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_CRC32C_H_
