#include "rules/log_formats.h"

#include "rules/built_in.h"
#include "rules/format_table.h"

namespace paritect {
namespace {

constexpr std::pair<absl::string_view, bool LogFormatFacts::*> kFacts[] = {
    {"prints_on_last_rank", &LogFormatFacts::prints_on_last_rank},
    {"schedule_counts_updates", &LogFormatFacts::schedule_counts_updates},
    {"skips_count_from_start", &LogFormatFacts::skips_count_from_start},
    {"steps_are_updates", &LogFormatFacts::steps_are_updates},
    {"records_have_times", &LogFormatFacts::records_have_times},
    {"lines_state_batch", &LogFormatFacts::lines_state_batch},
    {"may_be_a_table", &LogFormatFacts::may_be_a_table},
};

const LogFormatTable& BuiltInLogFormats() {
  return BuiltInTable<&ReadLogFormats>("log_formats.yaml");
}

}  // namespace

absl::StatusOr<LogFormatTable> ReadLogFormats(const DocumentNode& root) {
  return ReadFormatTable<LogFormatFacts>(root, "a log format", kFacts);
}

const LogFormatFacts& FactsOfLogFormat(absl::string_view format) {
  static constexpr LogFormatFacts kNone;
  const auto found = BuiltInLogFormats().find(format);
  return found == BuiltInLogFormats().end() ? kNone : found->second;
}

}  // namespace paritect
