// Tables of names that facts hold of: `{format: megatron, facts: [prints_on_last_rank]}`. A name without a row has
// none.
#ifndef PARITECT_RULES_FACT_TABLE_H_
#define PARITECT_RULES_FACT_TABLE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/document_fields.h"
#include "common/status_macros.h"

namespace paritect {

template <typename Facts>
struct FactName {
  absl::string_view name;
  bool Facts::*member;
};

template <typename Facts>
using FactTable = std::map<std::string, Facts, std::less<>>;

// Of a document with one list, `formats`. InvalidArgument "LINE:COLUMN: ..." for an unknown key or fact, or a name that
// stands twice.
template <typename Facts>
absl::StatusOr<FactTable<Facts>> ReadFactTable(const DocumentNode& root, absl::Span<const FactName<Facts>> facts) {
  FactTable<Facts> table;
  const auto read_fact = [&](const DocumentNode& node, Facts& row) -> absl::Status {
    for (const FactName<Facts>& fact : facts) {
      if (node.text != fact.name) continue;
      row.*fact.member = true;
      return absl::OkStatus();
    }
    return ErrorAt(node, absl::StrCat("unknown fact '", node.text, "'"));
  };
  const auto read_row = [&](const DocumentNode& node) -> absl::Status {
    std::string name;
    Facts row;
    PARITECT_RETURN_IF_ERROR(
        ReadMap(node, "a format",
                {{"format", [&](const DocumentNode& value) { return ReadText(value, "format", name); }},
                 {"facts", [&](const DocumentNode& value) {
                    return ReadList(value, "facts", [&](const DocumentNode& item) { return read_fact(item, row); });
                  }}}));
    return table.emplace(name, row).second ? absl::OkStatus()
                                           : ErrorAt(node, absl::StrCat("'", name, "' stands twice"));
  };
  PARITECT_RETURN_IF_ERROR(ReadMap(root, "the formats", {{"formats", [&](const DocumentNode& value) {
                                                            return ReadList(value, "formats", read_row);
                                                          }}}));
  return table;
}

// Of `name`; none of them for a name without a row. Lives as long as the table.
template <typename Facts>
const Facts& FactsOf(const FactTable<Facts>& table, absl::string_view name) {
  static constexpr Facts kNone;
  const auto found = table.find(name);
  return found == table.end() ? kNone : found->second;
}

}  // namespace paritect

#endif  // PARITECT_RULES_FACT_TABLE_H_
