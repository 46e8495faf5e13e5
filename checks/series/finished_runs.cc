// Which runs of a side count (run_series.h). By itself, for run_copies.h, which it uses, knows run series.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/run_copies.h"
#include "checks/series/run_series.h"

namespace paritect {
namespace {

// The run before it in the list that `run` is a copy of.
const RunSeries* FirstOf(const std::vector<RunSeries>& runs, const RunSeries& run, MessageArgs& args) {
  for (const RunSeries& first : runs) {
    if (&first == &run) break;
    const std::optional<Copy> copy = CopyOf(first, run);
    if (!copy.has_value()) continue;
    args.emplace_back("source", copy->source);
    args.emplace_back("first_source", copy->first_source);
    args.emplace_back("how", copy->how);
    return &first;
  }
  return nullptr;
}

// A log that ends because it could not be read on does not tell where the run ended.
bool AddDamage(const RunSeries& run, MessageArgs& args) {
  for (const LogSource& source : run.logs) {
    for (const v1::Note& note : source.log().notes()) {
      if (note.kind() != "damaged" && note.kind() != "gap" && note.kind() != "not_whole") continue;
      args.emplace_back("source", Where(source, 0));
      args.emplace_back("damage", note.message());
      return true;
    }
  }
  return false;
}

}  // namespace

FinishedRuns Finished(const Profile& profile, const std::vector<RunSeries>& runs) {
  FinishedRuns result;
  const double tolerance = profile.threshold("finished_tolerance");
  std::int64_t longest = 0;
  std::int64_t largest_total = 0;
  for (const RunSeries& run : runs) {
    if (run.ending.state != v1::RunEnd::STATE_ABORTED) longest = std::max(longest, run.ending.last_step.value_or(0));
    if (run.ending.state == v1::RunEnd::STATE_FINISHED) {
      largest_total = std::max(largest_total, run.ending.total_steps.value_or(0));
    }
  }
  const auto stops_early = [&](std::int64_t last, std::int64_t of) {
    return static_cast<double>(last) < (1 - tolerance) * static_cast<double>(of);
  };
  for (const RunSeries& run : runs) {
    const RunEnding& end = run.ending;
    const std::int64_t last = end.last_step.value_or(0);
    MessageArgs args = {
        {"run", run.name},    {"last", absl::StrCat(last)}, {"longest", absl::StrCat(longest)},
        {"words", end.words}, {"where", end.where},         {"total", absl::StrCat(end.total_steps.value_or(longest))}};
    if (const RunSeries* first = FirstOf(runs, run, args)) {
      args.emplace_back("first", first->name);
      result.others.push_back({&run, "run_is_copy", args});
    } else if (run.logs.empty()) {
      result.others.push_back({&run, "run_without_log", args});
    } else if (end.state == v1::RunEnd::STATE_ABORTED) {
      result.others.push_back({&run, "run_aborted", args});
    } else if (end.state == v1::RunEnd::STATE_UNFINISHED && stops_early(last, end.total_steps.value_or(longest + 1))) {
      result.others.push_back({&run, "run_unfinished", args});
    } else if (end.state == v1::RunEnd::STATE_FINISHED) {
      // Runs of one configuration have one length; an early stop at a target states no total.
      if (end.total_steps.has_value() && stops_early(*end.total_steps, largest_total)) {
        result.others.push_back({&run, "run_stops_early", args});
      } else {
        result.finished.push_back(&run);
      }
    } else if (!end.last_step.has_value()) {
      result.others.push_back({&run, "run_without_records", args});
    } else if (stops_early(last, longest)) {
      const bool damaged = AddDamage(run, args);
      result.others.push_back({&run, damaged ? "run_log_damaged" : "run_stops_early", args});
    } else {
      result.finished.push_back(&run);
      result.by_length = result.by_length || end.state == v1::RunEnd::STATE_UNSPECIFIED;
    }
  }
  return result;
}

namespace {

std::optional<StepHole> FindHole(const RunSeries& run) {
  constexpr std::size_t kStepsMin = 20;
  constexpr std::int64_t kUsual = 6;
  std::vector<std::int64_t> steps;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (!record.step_unknown()) steps.push_back(record.step());
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (steps.size() < kStepsMin) return std::nullopt;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < steps.size(); ++i) gaps.push_back(static_cast<double>(steps[i] - steps[i - 1]));
  const double usual = Median(gaps);
  std::optional<StepHole> widest;
  for (std::size_t i = 1; i + 1 < gaps.size(); ++i) {
    // An interval that changes for good has neighbours of its own size.
    const double around = std::max(gaps[i - 1], gaps[i + 1]);
    if (gaps[i] < kUsual * usual || gaps[i] < kUsual * around) continue;
    if (widest.has_value() && static_cast<double>(widest->last - widest->first) >= gaps[i]) continue;
    widest = StepHole{steps[i] + 1, steps[i + 1] - 1};
  }
  return widest;
}

}  // namespace

std::optional<StepHole> HoleOf(const RunSeries& run) {
  return run.views->Get<std::optional<StepHole>>({}, [&] { return FindHole(run); });
}

namespace {

struct FirstPrinted {
  std::optional<std::int64_t> step;
};

FirstPrinted FindFirst(const RunSeries& run) {
  FirstPrinted first;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (!record.step_unknown()) first.step = std::min(first.step.value_or(record.step()), record.step());
    }
  }
  return first;
}

std::optional<std::int64_t> FirstStep(const RunSeries& run) {
  return run.views->Get<FirstPrinted>({}, [&] { return FindFirst(run); }).step;
}

// A log that begins long after the other runs' do: its head was rotated away, or stands in a log that was not given.
// Runs that all begin late went on from one checkpoint.
std::optional<StepHole> HeadOf(const CheckContext& context, const RunSeries& run) {
  constexpr std::int64_t kStepsMin = 100;
  const std::optional<std::int64_t> first = FirstStep(run);
  if (!first.has_value()) return std::nullopt;
  std::int64_t earliest = *first;
  for (const Side side : kBothSides) {
    for (const RunSeries& other : SeriesOf(context, side)) {
      earliest = std::min(earliest, FirstStep(other).value_or(*first));
    }
  }
  // Another interval of printing begins later too.
  const std::int64_t lacking = *first - earliest;
  std::int64_t last = *first;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) last = std::max(last, record.step());
  }
  if (lacking < kStepsMin || lacking * 20 < last) return std::nullopt;
  return StepHole{earliest, *first - 1};
}

}  // namespace

void AddHole(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  std::optional<StepHole> hole = HoleOf(run);
  if (!hole.has_value()) hole = HeadOf(context, run);
  if (!hole.has_value()) return;
  AddMissing(context, result, "log_has_hole", run.name,
             {{"run", run.name}, {"first", absl::StrCat(hole->first)}, {"last", absl::StrCat(hole->last)}});
}

namespace {

bool HasNote(const RunSeries& run, absl::string_view kind) {
  return std::any_of(run.logs.begin(), run.logs.end(), [&](const LogSource& source) {
    const auto& notes = source.log().notes();
    return std::any_of(notes.begin(), notes.end(), [&](const v1::Note& note) { return note.kind() == kind; });
  });
}

}  // namespace

bool StepsByOrder(const RunSeries& run) {
  return HasNote(run, "steps_by_order");
}

bool StepsAreEpochs(const RunSeries& run) {
  return HasNote(run, "step_is_epoch");
}

}  // namespace paritect
