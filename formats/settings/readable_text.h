// Settings files as people and tools save them: UTF-8 with or without byte order mark, UTF-16 (a redirection of
// PowerShell), GBK comments, a stray byte. The readers see UTF-8.
#ifndef PARITECT_FORMATS_SETTINGS_READABLE_TEXT_H_
#define PARITECT_FORMATS_SETTINGS_READABLE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// Lines that are not UTF-8: read as GBK where that decodes, or with every such byte as U+FFFD, so that a GBK character
// that takes a quote or bracket with it does no harm.
enum class StrayBytes { kGbk, kReplace };

class ReadableText {
 public:
  // Borrows `bytes` where nothing is to be done (UTF-8 without mark, binary files); they must outlive this.
  ReadableText(absl::string_view bytes, StrayBytes stray);

  absl::string_view view() const { return changed_ ? absl::string_view(own_) : bytes_; }
  // Line and text of a note about what was done; "" where the bytes were UTF-8.
  std::int64_t note_line() const { return note_line_; }
  const std::string& note() const { return note_; }

 private:
  void DecodeLines(StrayBytes stray);

  absl::string_view bytes_;
  std::string own_;
  bool changed_ = false;
  std::int64_t note_line_ = 0;
  std::string note_;
};

// One line, by the same rule as kGbk; `line` itself where it is UTF-8.
std::string ReadableLine(absl::string_view line);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_READABLE_TEXT_H_
