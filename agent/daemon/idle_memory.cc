#include "agent/daemon/idle_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/file_system.h"

namespace paritect {
namespace {

constexpr std::uint64_t kMapsBytesMax = 4 << 20;

// Address ranges of files that are mapped readable, executable, not writable and private ("r-xp"); proc(5).
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> CodeRanges() {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  const auto maps = ReadWholeFile(PosixFileSystem(), "/proc/self/maps", kMapsBytesMax);
  if (!maps.ok()) return ranges;
  for (absl::string_view line : absl::StrSplit(*maps, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 6 || words[1] != "r-xp" || !absl::StartsWith(words[5], "/")) continue;
    const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(words[0], '-');
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    if (absl::SimpleHexAtoi(ends.first, &from) && absl::SimpleHexAtoi(ends.second, &to)) ranges.emplace_back(from, to);
  }
  return ranges;
}

}  // namespace

void ReleaseIdleMemory() {
  for (const auto& [from, to] : CodeRanges()) {
    // An address of the kernel's own list; there is no other way to name it.
    madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  malloc_trim(0);
}

}  // namespace paritect
