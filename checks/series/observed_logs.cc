#include "checks/series/observed_logs.h"

#include <algorithm>

#include "common/recorded_formats.h"

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

}  // namespace paritect
