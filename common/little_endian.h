// Little-endian numbers in bytes, as nearly every binary format has them; at no alignment.
#ifndef PARITECT_COMMON_LITTLE_ENDIAN_H_
#define PARITECT_COMMON_LITTLE_ENDIAN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// The number of `width` bytes (0 to 8) at `at`; the caller has seen to it that they are there.
inline std::uint64_t LittleEndian(absl::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  return value;
}

// The lowest `width` bytes of the number.
inline std::string LittleEndianBytes(std::uint64_t value, std::size_t width) {
  std::string bytes(width, '\0');
  for (std::size_t i = 0; i < width; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace paritect

#endif  // PARITECT_COMMON_LITTLE_ENDIAN_H_
