#include "checks/series/observed_logs.h"

#include <algorithm>

#include "checks/observed_format.h"

namespace paritect {

bool IsObserved(const LogSource& source) {
  return source.log().format() == kObservedFormat;
}

std::vector<LogSource> ObservedLogs(const RunView& view) {
  std::vector<LogSource> logs;
  for (const v1::Bundle* bundle : view.nodes) {
    for (const v1::Evidence& one : bundle->evidence()) {
      const LogSource source = {bundle, &one};
      if (one.outcome() == v1::OUTCOME_COLLECTED && one.has_run_log() && IsObserved(source)) logs.push_back(source);
    }
  }
  return logs;
}

std::vector<LogSource> ScaleLogs(const RunSeries& run) {
  std::vector<LogSource> observed = ObservedLogs(run.view);
  const bool told = std::any_of(observed.begin(), observed.end(), [](const LogSource& source) {
    return std::any_of(source.log().records().begin(), source.log().records().end(),
                       [](const v1::StepRecord& record) { return record.has_loss_scale(); });
  });
  return told ? observed : run.logs;
}

RunSeries AsObserved(const RunSeries& run) {
  RunSeries seen = run;
  if (std::vector<LogSource> observed = ObservedLogs(run.view); !observed.empty()) seen.logs = std::move(observed);
  return seen;
}

}  // namespace paritect
