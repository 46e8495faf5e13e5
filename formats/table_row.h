// Rows of tables as text: CSV (RFC 4180) and its kin with semicolons, tabs or bars.
#ifndef PARITECT_FORMATS_TABLE_ROW_H_
#define PARITECT_FORMATS_TABLE_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct TableRow {
  std::vector<std::string> fields;
  std::int64_t line = 0;
  bool open = false;  // ended by the end of the file
  bool whole = true;  // false: a quote was not closed
};

// Takes one row off `text`; `line` is the number of the line on which it begins, and goes on.
TableRow TakeTableRow(absl::string_view& text, char separator, std::int64_t& line);

}  // namespace paritect

#endif  // PARITECT_FORMATS_TABLE_ROW_H_
