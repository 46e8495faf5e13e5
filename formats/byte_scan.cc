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

PARITECT_VECTOR_CODE std::size_t CountInBlocks(const char* p, std::size_t blocks) {
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block, p += kBlock) {
    unsigned char here = 0;  // at most kBlock
    for (std::size_t i = 0; i < kBlock; ++i) here = static_cast<unsigned char>(here + (p[i] == '\n'));
    count += here;
  }
  return count;
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

std::size_t CountNewlines(absl::string_view text) {
  const std::size_t blocks = text.size() / kBlock;
  const absl::string_view rest = text.substr(blocks * kBlock);
  return CountInBlocks(text.data(), blocks) + static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n'));
}

}  // namespace paritect
