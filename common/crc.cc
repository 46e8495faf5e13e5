#include "common/crc.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace paritect {

std::uint32_t Crc32(std::uint32_t crc, absl::string_view bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint32_t Crc32c(std::uint32_t crc, absl::string_view bytes) {
  constexpr std::size_t kPieceBytes = 1 << 30;  // ISA-L takes the length as int
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kPieceBytes);
    // ISA-L reads only; its C signature lacks the const.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(piece), state);
    bytes.remove_prefix(piece);
  }
  return ~state;
}

std::uint32_t MaskedCrc32c(absl::string_view bytes) {
  return MaskCrc32c(Crc32c(0, bytes));
}

std::uint32_t MaskCrc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace paritect
