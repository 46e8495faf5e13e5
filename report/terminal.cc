#include "report/terminal.h"

#include <utf8proc.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// The first character of valid UTF-8 `text` (as TerminalSafe gives it); one byte where it is not valid.
absl::string_view FirstCharacter(absl::string_view text, utf8proc_int32_t& rune) {
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &rune);
  if (length <= 0) {
    rune = '?';
    return text.substr(0, 1);
  }
  return text.substr(0, static_cast<std::size_t>(length));
}

// Closing punctuation does not begin a line.
bool MayBeginLine(absl::string_view character) {
  static constexpr absl::string_view kClosing[] = {"，", "。", "；", "：", "！", "？", "、", "）", "》", "”", "】"};
  for (absl::string_view closing : kClosing) {
    if (character == closing) return false;
  }
  return true;
}

// The smallest pieces that a line may be made of: a word with the blanks behind it, or one CJK character.
std::vector<absl::string_view> Pieces(absl::string_view text) {
  std::vector<absl::string_view> pieces;
  std::size_t begin = 0;
  std::size_t at = 0;
  bool blank_before = false;
  while (at < text.size()) {
    utf8proc_int32_t rune = 0;
    const absl::string_view character = FirstCharacter(text.substr(at), rune);
    const bool wide = DisplayWidth(character) == 2;
    const bool blank = character == " ";
    const bool breaks = at > begin && !blank && (blank_before || (wide && MayBeginLine(character)));
    if (breaks) {
      pieces.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    at += character.size();
    blank_before = blank;
    if (wide && at < text.size()) {
      const absl::string_view next = FirstCharacter(text.substr(at), rune);
      if (next != " " && DisplayWidth(next) != 2) blank_before = true;  // Latin after CJK begins a word
    }
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

absl::string_view WithoutTrailingBlanks(absl::string_view text) {
  while (absl::EndsWith(text, " ")) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string TerminalSafe(absl::string_view text) {
  return DisplayBytes(text);
}

std::string Shorten(absl::string_view text, std::size_t columns, bool ascii) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  const absl::string_view mark = ascii ? "..." : "…";
  const std::size_t mark_width = ascii ? 3 : 1;
  if (columns <= mark_width) return std::string(TruncateToWidth(text, columns));
  return absl::StrCat(TruncateToWidth(text, columns - mark_width), mark);
}

std::string Pad(absl::string_view text, std::size_t columns) {
  const std::size_t width = DisplayWidth(text);
  return absl::StrCat(text, width < columns ? std::string(columns - width, ' ') : "");
}

std::vector<std::string> Wrap(absl::string_view text, std::size_t columns) {
  if (columns == 0) columns = 1;
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;  // columns of `line`
  for (absl::string_view piece : Pieces(text)) {
    // Each piece is measured once: a value of many bytes without a blank is one piece.
    std::size_t width = DisplayWidth(WithoutTrailingBlanks(piece));
    if (!line.empty() && used + width > columns) {
      lines.emplace_back(WithoutTrailingBlanks(line));
      line.clear();
      used = 0;
    }
    while (width > columns) {
      absl::string_view head = TruncateToWidth(piece, columns);
      if (head.empty()) head = piece.substr(0, 1);
      lines.emplace_back(head);
      piece.remove_prefix(head.size());
      width -= std::min(width, DisplayWidth(head));
    }
    absl::StrAppend(&line, piece);
    used += DisplayWidth(piece);
  }
  if (!line.empty() || lines.empty()) lines.emplace_back(WithoutTrailingBlanks(line));
  return lines;
}

absl::StatusOr<bool> ChooseColour(absl::string_view option, bool is_terminal,
                                  std::string (*getenv)(absl::string_view)) {
  if (option == "always") return true;
  if (option == "never") return false;
  if (option != "auto" && !option.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--color ", option, ": must be auto, always or never"));
  }
  return is_terminal && getenv("NO_COLOR").empty() && getenv("TERM") != "dumb";
}

}  // namespace paritect
