// The filter before everything that is searched for in lines that are no records. Most lines of a log tell nothing;
// the loop takes many bytes at a time.
#include "formats/logs/log_format.h"
#include "formats/vector_code.h"

namespace paritect {
namespace {

constexpr std::size_t kBlock = 64;

// How many of the blocks hold none of the groups of three letters: "loss", "LOSS", "overflow", "OVERFLOW", "*****",
// "resume", "checkpoint", "continuing", "traceback", "cannot", "acc@1", "acc", "Acc", the first sign of 损失 (loss),
// and `more`. Two bytes behind the last block are read.
PARITECT_VECTOR_CODE std::size_t QuietBlocks(const char* p, std::size_t blocks, const char* more) {
  const char x = more[0];
  const char y = more[1];
  const char z = more[2];
  for (std::size_t block = 0; block < blocks; ++block, p += kBlock) {
    unsigned char any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const char a = p[i];
      const char b = p[i + 1];
      const char c = p[i + 2];
      any = static_cast<unsigned char>(any | ((a == 'o') & (b == 's') & (c == 's')) |
                                       ((a == 'O') & (b == 'S') & (c == 'S')) | ((a == 'f') & (b == 'l') & (c == 'o')) |
                                       ((a == 'F') & (b == 'L') & (c == 'O')) | ((a == '*') & (b == '*') & (c == '*')) |
                                       ((a == 's') & (b == 'u') & (c == 'm')) | ((a == 'k') & (b == 'p') & (c == 'o')) |
                                       ((a == 'u') & (b == 'i') & (c == 'n')) | ((a == 'e') & (b == 'b') & (c == 'a')) |
                                       ((a == 'n') & (b == 'n') & (c == 'o')) | ((a == 'c') & (b == '@') & (c == '1')) |
                                       ((a == '\xE6') & (b == '\x8D') & (c == '\x9F')) |
                                       ((a == x) & (b == y) & (c == z)) | ((b == 'c') & (c == 'c')));
    }
    if (any != 0) return block;
  }
  return blocks;
}

constexpr char kNoMore[3] = {'o', 's', 's'};

const char* MoreOf(absl::string_view more) {
  return more.size() >= 3 ? more.data() : kNoMore;
}

}  // namespace

bool HasTellingLetters(absl::string_view text, absl::string_view more) {
  const std::size_t blocks = text.size() < kBlock + 2 ? 0 : (text.size() - 2) / kBlock;
  if (QuietBlocks(text.data(), blocks, MoreOf(more)) < blocks) return true;
  char last[kBlock + 2] = {};
  text.copy(last, kBlock + 2, blocks * kBlock);
  return QuietBlocks(last, 1, MoreOf(more)) == 0;
}

std::size_t QuietBytes(absl::string_view text, absl::string_view more) {
  const std::size_t blocks = text.size() < kBlock + 2 ? 0 : (text.size() - 2) / kBlock;
  return QuietBlocks(text.data(), blocks, MoreOf(more)) * kBlock;
}

}  // namespace paritect
