#include "rules/log_formats.h"

#include "absl/strings/str_cat.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr std::pair<absl::string_view, bool LogFormatFacts::*> kFacts[] = {
    {"prints_on_last_rank", &LogFormatFacts::prints_on_last_rank},
    {"schedule_counts_updates", &LogFormatFacts::schedule_counts_updates},
    {"skips_count_from_start", &LogFormatFacts::skips_count_from_start},
    {"steps_are_updates", &LogFormatFacts::steps_are_updates},
    {"records_have_times", &LogFormatFacts::records_have_times},
    {"lines_state_batch", &LogFormatFacts::lines_state_batch},
    {"lines_state_length", &LogFormatFacts::lines_state_length},
    {"may_be_a_table", &LogFormatFacts::may_be_a_table},
};

absl::Status ReadFact(const DocumentNode& node, LogFormatFacts& facts) {
  for (const auto& [name, member] : kFacts) {
    if (node.text != name) continue;
    facts.*member = true;
    return absl::OkStatus();
  }
  return ErrorAt(node, absl::StrCat("unknown fact '", node.text, "'"));
}

absl::Status ReadRow(const DocumentNode& node, LogFormatTable& table) {
  std::string format;
  LogFormatFacts facts;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "a log format",
              {{"format", [&](const DocumentNode& value) { return ReadText(value, "format", format); }},
               {"facts", [&](const DocumentNode& value) {
                  return ReadList(value, "facts", [&](const DocumentNode& item) { return ReadFact(item, facts); });
                }}}));
  if (!table.emplace(format, facts).second) return ErrorAt(node, absl::StrCat("'", format, "' stands twice"));
  return absl::OkStatus();
}

const LogFormatTable& BuiltInLogFormats() {
  return BuiltInTable<&ReadLogFormats>("log_formats.yaml");
}

}  // namespace

absl::StatusOr<LogFormatTable> ReadLogFormats(const DocumentNode& root) {
  LogFormatTable table;
  PARITECT_RETURN_IF_ERROR(ReadMap(root, "the log formats", {{"formats", [&](const DocumentNode& value) {
                                                                return ReadList(value, "formats",
                                                                                [&](const DocumentNode& item) {
                                                                                  return ReadRow(item, table);
                                                                                });
                                                              }}}));
  return table;
}

const LogFormatFacts& FactsOfLogFormat(absl::string_view format) {
  static constexpr LogFormatFacts kNone;
  const auto found = BuiltInLogFormats().find(format);
  return found == BuiltInLogFormats().end() ? kNone : found->second;
}

}  // namespace paritect
