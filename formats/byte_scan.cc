#include "formats/byte_scan.h"

#include <algorithm>

#include "formats/vector_code.h"

namespace paritect {
namespace {

constexpr std::size_t kBlock = 128;

PARITECT_VECTOR_CODE bool AnyOdd(const char* p, std::size_t blocks) {
  for (std::size_t block = 0; block < blocks; ++block, p += kBlock) {
    unsigned char any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto c = static_cast<signed char>(p[i]);  // what is not ASCII is negative
      any = static_cast<unsigned char>(any | ((c < 0x20) & (c != '\n') & (c != '\t')));
    }
    if (any != 0) return true;
  }
  return false;
}

}  // namespace

bool HasOddBytes(absl::string_view text) {
  const std::size_t blocks = text.size() / kBlock;
  if (AnyOdd(text.data(), blocks)) return true;
  char last[kBlock];
  std::fill_n(last, kBlock, ' ');
  text.copy(last, kBlock, blocks * kBlock);
  return AnyOdd(last, 1);
}

}  // namespace paritect
