// Reads a table of formats and what holds of each: `formats: [{format: NAME, facts: [WORD, ...]}, ...]`.
#ifndef PARITECT_RULES_FORMAT_TABLE_H_
#define PARITECT_RULES_FORMAT_TABLE_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/document_fields.h"
#include "common/status_macros.h"

namespace paritect {

template <typename Facts>
using FactNames = absl::Span<const std::pair<absl::string_view, bool Facts::*>>;

template <typename Facts>
absl::Status ReadFact(const DocumentNode& node, FactNames<Facts> names, Facts& facts) {
  for (const auto& [name, member] : names) {
    if (node.text != name) continue;
    facts.*member = true;
    return absl::OkStatus();
  }
  return ErrorAt(node, absl::StrCat("unknown fact '", node.text, "'"));
}

// InvalidArgument "LINE:COLUMN: ..." for an unknown key or fact, or a format that stands twice. `what`: "a log format".
template <typename Facts>
absl::StatusOr<std::map<std::string, Facts, std::less<>>> ReadFormatTable(const DocumentNode& root,
                                                                          absl::string_view what,
                                                                          FactNames<Facts> names) {
  std::map<std::string, Facts, std::less<>> table;
  const auto read_row = [&](const DocumentNode& node) -> absl::Status {
    std::string format;
    Facts facts;
    PARITECT_RETURN_IF_ERROR(
        ReadMap(node, what,
                {{"format", [&](const DocumentNode& value) { return ReadText(value, "format", format); }},
                 {"facts", [&](const DocumentNode& value) {
                    return ReadList(value, "facts",
                                    [&](const DocumentNode& item) { return ReadFact<Facts>(item, names, facts); });
                  }}}));
    if (!table.emplace(format, facts).second) return ErrorAt(node, absl::StrCat("'", format, "' stands twice"));
    return absl::OkStatus();
  };
  PARITECT_RETURN_IF_ERROR(ReadMap(root, "the table of formats", {{"formats", [&](const DocumentNode& value) {
                                                                     return ReadList(value, "formats", read_row);
                                                                   }}}));
  return table;
}

}  // namespace paritect

#endif  // PARITECT_RULES_FORMAT_TABLE_H_
