// A streaming front for text that programs print: bytes in, clean lines out, in bounded memory.
//
// A line ends at LF, CR or a run of backspaces (progress bars rewrite themselves with both). Empty
// pieces are not reported. ANSI escape sequences are taken out, UTF-16 and UTF-32 are turned into UTF-8, a line that is
// not UTF-8 is read as GBK where that decodes, else as Latin-1; a byte order mark is skipped. A run of NUL
// bytes (a hole of a log that was truncated while open, or lost in a crash) cuts the line it stands in.
#ifndef PARITECT_FORMATS_TEXT_LINES_H_
#define PARITECT_FORMATS_TEXT_LINES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace paritect {

enum class TextEncoding { kUtf8, kUtf16Le, kUtf16Be, kUtf32Le, kUtf32Be };

// By byte order mark, or by NUL at every second place (at three of four) in a text without one.
TextEncoding DetectTextEncoding(absl::string_view head);

// A line longer than this is reported cut to it, with `too_long`.
inline constexpr std::size_t kTextLineBytesMax = 64 << 10;

struct TextLine {
  absl::string_view text;   // valid during the call only
  std::int64_t number = 0;  // of the physical line (LF), 1-based
  bool ended = true;        // false: the file ends, or a hole begins, before the line does
  bool after_hole = false;  // begins where a hole ended that had cut a line
  bool too_long = false;
};

// A stretch at the front of a text that holds nothing that matters.
struct QuietText {
  std::size_t bytes = 0;
  std::size_t newlines = 0;  // LF among them
};

// Not thread-safe.
class TextLines {
 public:
  using Sink = absl::FunctionRef<void(const TextLine&)>;

  explicit TextLines(TextEncoding encoding = TextEncoding::kUtf8) : encoding_(encoding) {}

  // Chunks need not end at line ends, nor at character ends.
  void Feed(absl::string_view chunk, Sink sink);
  // As Feed, where `quiet` says how many bytes at the front (or fewer) hold nothing that matters: whole lines among
  // them are counted and not reported.
  using Quiet = absl::FunctionRef<QuietText(absl::string_view text)>;
  void Feed(absl::string_view chunk, Quiet quiet, Sink sink);
  // As many NUL bytes, which the caller need not have read.
  void FeedHole(std::uint64_t bytes, Sink sink);
  // Reports what is left as a line that has not ended.
  void Finish(Sink sink);

  std::int64_t nul_bytes() const { return nul_bytes_; }
  // Line of the first hole, and the length of the longest one.
  std::int64_t first_hole_line() const { return first_hole_line_; }
  std::int64_t longest_hole() const { return longest_hole_; }

 private:
  void FeedUtf8(absl::string_view chunk, const Quiet* quiet, Sink sink);
  void FeedPlain(absl::string_view chunk, const Quiet* quiet, Sink sink);
  std::size_t SkipQuiet(absl::string_view chunk, Quiet quiet);
  void Append(absl::string_view piece);
  void EndLine(absl::string_view piece, bool ended, Sink sink);
  void CountNuls(std::size_t n);
  std::string WideToUtf8(absl::string_view chunk);
  std::string Utf16ToUtf8();
  std::string Utf32ToUtf8();

  TextEncoding encoding_;
  std::string carry_;    // bytes of a character in UTF-16 or UTF-32 that the chunk cut
  std::string pending_;  // the line so far, where a chunk cut it
  std::string scratch_;
  // What the chunks since the last line end hold at all: spares each line the search.
  bool may_have_escape_ = false;
  bool may_have_high_byte_ = false;
  bool pending_too_long_ = false;
  int lines_till_quiet_ = 0;  // lines to be read before quiet ones are looked for again
  int quiet_pause_ = 0;
  bool after_hole_ = false;
  std::int64_t number_ = 1;
  std::int64_t nul_bytes_ = 0;
  std::int64_t hole_ = 0;
  std::int64_t longest_hole_ = 0;
  std::int64_t first_hole_line_ = 0;
};

// The text without ANSI escape sequences (CSI, OSC and two-byte ones).
std::string StripAnsi(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_TEXT_LINES_H_
