#include "rules/log_formats.h"

#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr FactName<LogFormatFacts> kFacts[] = {
    {"prints_on_last_rank", &LogFormatFacts::prints_on_last_rank},
    {"schedule_counts_updates", &LogFormatFacts::schedule_counts_updates},
    {"skips_count_from_start", &LogFormatFacts::skips_count_from_start},
    {"steps_are_updates", &LogFormatFacts::steps_are_updates},
    {"records_have_times", &LogFormatFacts::records_have_times},
    {"lines_state_batch", &LogFormatFacts::lines_state_batch},
    {"lines_state_length", &LogFormatFacts::lines_state_length},
    {"may_be_a_table", &LogFormatFacts::may_be_a_table},
    {"general_form", &LogFormatFacts::general_form},
    {"keeps_runs_side_by_side", &LogFormatFacts::keeps_runs_side_by_side},
    {"may_be_empty", &LogFormatFacts::may_be_empty},
};

}  // namespace

absl::StatusOr<LogFormatTable> ReadLogFormats(const DocumentNode& root) {
  return ReadFactTable<LogFormatFacts>(root, kFacts);
}

const LogFormatFacts& FactsOfLogFormat(absl::string_view format) {
  return FactsOf(BuiltInTable<&ReadLogFormats>("log_formats.yaml"), format);
}

}  // namespace paritect
