// Which lines of a text may be of whom. Each reader names letters, groups of three, without one of which no line is its
// own; one vectorised pass finds the lines that hold a group at all. Most lines of most logs hold none.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LINE_LETTERS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LINE_LETTERS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// Thread-safe once it is made.
class LineLetters {
 public:
  // In the third place of a group: any letter.
  static constexpr char kAny = '\x01';
  static constexpr std::size_t kReadersMax = 64;

  // One entry a reader, each the reader's groups one behind the other. No group holds LF.
  explicit LineLetters(absl::Span<const absl::string_view> readers);

  struct Line {
    absl::string_view text;
    std::uint64_t readers = 0;  // bit i: it holds a group of the i-th
  };
  // In the order of the text, which must live on.
  std::vector<Line> Find(absl::string_view text) const;

  // For the vectorised pass: of each of eight sets of groups, which letters stand at which place, by half bytes.
  struct Tables {
    alignas(16) std::array<std::array<unsigned char, 16>, 3> low;
    alignas(16) std::array<std::array<unsigned char, 16>, 3> high;
  };

 private:
  struct Slot {
    std::uint32_t letters = 0;
    std::uint64_t readers = 0;  // 0: empty
  };
  struct Pair {
    char letters[2];
    std::uint64_t readers;
  };
  static constexpr std::size_t kSlots = 1024;

  void AddToSet(absl::string_view group, std::size_t set);
  void AddSlot(std::uint32_t letters, std::uint64_t readers);
  std::uint64_t ReadersAt(const char* p) const;
  void Take(absl::string_view text, std::size_t at, std::vector<Line>& lines) const;

  Tables tables_ = {};
  std::array<Slot, kSlots> slots_ = {};
  std::vector<Pair> pairs_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LINE_LETTERS_H_
