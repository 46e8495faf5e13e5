// What the settings readers share: typed values from their spelling, and the document they fill.
#ifndef PARITECT_FORMATS_SETTINGS_BUILDER_H_
#define PARITECT_FORMATS_SETTINGS_BUILDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// The value that a Python, shell or configuration text spells: None/null, True/False, integers, numbers, [lists]
// and (tuples), 'quoted texts'; anything else is a text. Nesting deeper than 8 stays a text.
v1::Value ValueOfText(absl::string_view text);

// Parts of `text` between `separator` outside quotes and brackets, trimmed: "a=1, b=[1, 2]" -> "a=1", "b=[1, 2]".
std::vector<absl::string_view> SplitOutsideBrackets(absl::string_view text, char separator);

// The position of the bracket that closes the one at `open`, quotes respected; npos where there is none.
std::size_t ClosingBracket(absl::string_view text, std::size_t open);

class SettingsBuilder {
 public:
  SettingsBuilder(absl::string_view format, absl::string_view kind, absl::string_view label);

  // A value typed by its spelling. Beyond kSettingsMax entries nothing is added (noted once).
  v1::Setting* Add(absl::string_view raw_key, absl::string_view raw_value, std::int64_t line);
  // A text, whatever it spells.
  v1::Setting* AddText(absl::string_view raw_key, absl::string_view text, std::int64_t line);
  // A tree of maps and lists, keys joined by '.'; a list of single values is one list value. `line_offset` is added
  // to the nodes' lines.
  void AddTree(absl::string_view prefix, const DocumentNode& node, std::int64_t line_offset = 0);
  void AddNote(absl::string_view kind, std::int64_t line, absl::string_view message);

  // Names the file (or part of it) in the origins of what is added from here on.
  void SetLabel(absl::string_view label) { label_ = std::string(label); }

  bool empty() const { return document_.settings_size() == 0; }
  int size() const { return document_.settings_size(); }
  v1::SettingsDocument Finish() { return std::move(document_); }

 private:
  std::string label_;
  bool full_ = false;
  v1::SettingsDocument document_;
};

// Calls `line` for each line of `text` (without "\n" and a "\r" before it), with its 1-based number.
template <typename Visit>
void ForEachLine(absl::string_view text, Visit visit) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    visit(line, ++number);
  }
}

// Whether `head` holds the words of `any` as map keys of a YAML or JSON document; the count.
int CountKeys(absl::string_view head, std::initializer_list<absl::string_view> any);

bool IsIdentifier(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_BUILDER_H_
