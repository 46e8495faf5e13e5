// Progress bars that are drawn twice a step: once when the count moves and once when the values behind it do. Of
//   1/60 [loss=2.5]   1/60 [loss=2.4]   2/60 [loss=2.4]   2/60 [loss=2.3]   3/60 [loss=2.3]
// either each step's first values are its own (set before the count moves: the log begins with the count 0 or ends with
// one value) or its last ones. The order of the two lines of a step is the same throughout a log.
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {
namespace {

// The drawings of one step, by their places among the records.
struct Drawn {
  std::int64_t step = 0;
  std::vector<std::size_t> at;
};

bool SameValues(const StepValues& a, const StepValues& b) {
  StepValues trial = a;
  return a.has_loss() && b.has_loss() && a.count() == b.count() && FoldRecord(b, trial) && trial.count() == a.count();
}

std::map<LogWriter, std::vector<Drawn>> StepsOf(const RecordList<LogRecord>& entries) {
  std::map<LogWriter, std::vector<Drawn>> writers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const LogRecord& entry = entries[i];
    if (!entry.has_step || entry.repeats || entry.beside || !entry.values.has_loss()) continue;
    std::vector<Drawn>& steps = writers[WriterOf(entry.values)];
    if (steps.empty() || steps.back().step != entry.values.step()) steps.push_back({entry.values.step(), {}});
    steps.back().at.push_back(i);
  }
  return writers;
}

}  // namespace

void RunLogBuilder::DropValuesOfOtherSteps() {
  if (only_grows_) return;
  std::size_t left_out = 0;
  for (const auto& [writer, steps] : StepsOf(entries_)) {
    std::size_t twice = 0;
    std::size_t handed_on = 0;  // to the next step
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      twice += steps[i].at.size() > 1 ? 1 : 0;
      handed_on += steps[i + 1].step == steps[i].step + 1 &&
                           SameValues(entries_[steps[i].at.back()].values, entries_[steps[i + 1].at.front()].values)
                       ? 1
                       : 0;
    }
    constexpr std::size_t kStepsMin = 3;
    if (steps.size() < kStepsMin || 2 * twice < steps.size() || 2 * handed_on < steps.size()) continue;
    const bool set_before = steps.front().step == 0 || steps.back().at.size() == 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::vector<std::size_t>& at = steps[i].at;
      const bool before_all = set_before && i == 0 && steps[i].step == 0;
      const std::size_t own = set_before ? at.front() : at.back();
      for (const std::size_t one : at) {
        if (one == own && !before_all) continue;
        dropped_[one] = true;
        ++left_out;
      }
    }
  }
  if (left_out == 0) return;
  AddNote("bars_redrawn", 0,
          absl::StrCat("each step's bar is drawn with the values of a neighbour, too: ", left_out, " are left out"));
}

}  // namespace paritect
