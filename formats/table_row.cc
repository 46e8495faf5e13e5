#include "formats/table_row.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace paritect {

TableRow TakeTableRow(absl::string_view& text, char separator, std::int64_t& line) {
  TableRow row;
  row.line = line;
  std::string field;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        field.push_back(c);
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field.push_back('"');
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == separator) {
      row.fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      break;
    } else {
      field.push_back(c);
    }
  }
  row.open = i == text.size();
  row.whole = !quoted;
  text.remove_prefix(std::min(i + 1, text.size()));
  if (!field.empty() && field.back() == '\r') field.pop_back();
  row.fields.push_back(std::move(field));
  // Columns between bars are padded for the eye.
  for (std::string& cell : row.fields) {
    if (separator == '|') absl::StripAsciiWhitespace(&cell);
  }
  return row;
}

}  // namespace paritect
