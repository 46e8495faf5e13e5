// What the format of a log says beyond its lines. Data: rules/data/log_formats.yaml, where each fact is explained.
#ifndef PARITECT_RULES_LOG_FORMATS_H_
#define PARITECT_RULES_LOG_FORMATS_H_

#include "rules/fact_table.h"

namespace paritect {

struct LogFormatFacts {
  bool prints_on_last_rank = false;
  bool schedule_counts_updates = false;
  bool skips_count_from_start = false;
  bool steps_are_updates = false;
  bool records_have_times = false;
  bool lines_state_batch = false;
  bool lines_state_length = false;
  bool may_be_a_table = false;
  bool general_form = false;
  bool keeps_runs_side_by_side = false;
  bool may_be_empty = false;
};

using LogFormatTable = FactTable<LogFormatFacts>;

absl::StatusOr<LogFormatTable> ReadLogFormats(const DocumentNode& root);

// Of a format by its name; none of them for a format without a row. Lives for ever.
const LogFormatFacts& FactsOfLogFormat(absl::string_view format);

}  // namespace paritect

#endif  // PARITECT_RULES_LOG_FORMATS_H_
