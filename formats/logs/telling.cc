// The filter before everything that is searched for in lines that are no records. Most lines of a log tell nothing;
// this loop is written so that the compiler turns it into vector code (16 bytes or more at a time).
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

constexpr std::size_t kBlock = 64;

// Groups of three letters: "loss", "LOSS", "overflow", "OVERFLOW", "*****", "resume", "checkpoint", "continuing",
// "traceback", "cannot", "acc@1", "acc", "Acc".
__attribute__((optimize("O3"))) bool BlockTells(const char* p) {
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
                                     ((b == 'c') & (c == 'c')));
  }
  return any != 0;
}

}  // namespace

bool HasTellingLetters(absl::string_view text) {
  std::size_t at = 0;
  for (; at + kBlock + 2 <= text.size(); at += kBlock) {
    if (BlockTells(text.data() + at)) return true;
  }
  char last[kBlock + 2] = {};
  text.copy(last, kBlock + 2, at);
  return BlockTells(last);
}

}  // namespace paritect
