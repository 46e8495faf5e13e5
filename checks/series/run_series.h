// What the runs of a side printed, put together: one curve a metric and engine, how each run ended, its
// final metric. Every check that reads logs starts here, so that all of them see the same runs.
//
// A run may have several logs (ranks, nodes, parts after a resume):
// - parts that follow each other are joined, the later part wins where they overlap;
// - ranks that print the same values agree and count once; where they differ, all of them stand in Curve::ranks, and
//   their mean is the run's value where all are there; else the rank that defines the printed value is taken: the last
//   one where the framework prints there (Megatron and what grew from it), else rank 0; how far the others are from it
//   stands in Curve::spreads;
// - two logs that tell different values of the same steps, or a log with two writers that disagree, give
//   no curve: the check says so under `missing` instead of choosing one.
#ifndef PARITECT_CHECKS_SERIES_RUN_SERIES_H_
#define PARITECT_CHECKS_SERIES_RUN_SERIES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"
#include "checks/series/curve.h"
#include "checks/series/log_source.h"
#include "checks/views.h"

namespace paritect {

// "logs/train.log:12"; without a line the file alone.
std::string Where(const LogSource& source, std::int64_t line);

// The same curve without NaN and infinities.
Curve FiniteOnly(const Curve& curve);

// Why a curve cannot be made: a message id under `missing`, its arguments, the file or run it is about.
struct CurveProblem {
  std::string message_id;
  MessageArgs args;
  std::string from;
};

struct CurveSet {
  std::vector<Curve> curves;  // one an engine, by name; empty: the metric is not in the logs
  std::vector<CurveProblem> problems;
  bool by_order = false;  // points of evaluations that tell no step: their places in the log count as such
};

// How a run ended, by the logs' own word.
struct RunEnding {
  v1::RunEnd::State state = v1::RunEnd::STATE_UNSPECIFIED;
  std::string words;
  std::string where;
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> total_steps;
};

struct FinalMetric {
  std::string name;  // "accuracy", "eval_loss", or of rules/metrics.h: "map", "bleu", ...
  bool is_accuracy = false;
  bool is_share = false;  // of 1 or of a hundred: compared in points
  bool higher_is_better = false;
  // How good the model is; a validation loss or a perplexity only tells how well it predicts.
  bool of_quality = false;
  int preference = 0;  // of several the lowest is compared
  // A share in points of per cent whatever the log's unit (a curve that never exceeds 1 and was never printed with a
  // per cent sign is in fractions).
  double value = 0;
  double printed = 0;
  bool finite = true;
  std::optional<std::int64_t> step;   // of that evaluation, where the log tells it
  std::optional<std::int64_t> later;  // of an evaluation after it that does not print this metric
  std::string where;
};

struct RunSeries {
  std::string name;
  Side side = Side::kBaseline;
  RunView view;
  std::vector<LogSource> logs;  // collected ones, in the order given
  RunEnding ending;
  // What is derived from the logs, each made once. Copies of a series share it: `logs` is not changed behind it.
  std::shared_ptr<Views> views = std::make_shared<Views>();

  const CurveSet& Curves(Metric metric) const;
  // The last value of each metric of evaluations that was printed: accuracy first, then the other measures of quality,
  // then the validation loss. Not finite where the last evaluation gave no number.
  const std::vector<FinalMetric>& Finals() const;
  // The first of them; nullopt: none was printed.
  std::optional<FinalMetric> Final() const;
};

// The runs of a side, made once an audit.
const std::vector<RunSeries>& SeriesOf(const CheckContext& context, Side side, v1::Role role = v1::ROLE_RUN);
// The same of evidence that no audit holds.
std::vector<RunSeries> MakeSeries(const EvidenceSet& evidence, Side side, v1::Role role = v1::ROLE_RUN);

// Which runs of a side count as finished: the log's end mark decides; a log without one counts by its
// length, when it stops no more than `finished_tolerance` before the longest run of its side.
struct FinishedRuns {
  struct Left {
    const RunSeries* run;
    std::string message_id;  // run_aborted, run_unfinished, run_stops_early, run_without_records, run_is_copy, ...
    MessageArgs args;
  };
  std::vector<const RunSeries*> finished;
  std::vector<Left> others;
  bool by_length = false;  // some run counts by its length alone
};

// A lone run without an end mark counts (nothing says that it broke off); `by_length` tells.
FinishedRuns Finished(const Profile& profile, const std::vector<RunSeries>& runs);

// Steps that a log lacks in its middle: a gap many times the usual one, with usual ones on either side.
struct StepHole {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
std::optional<StepHole> HoleOf(const RunSeries& run);
// Says so under `missing`.
void AddHole(const CheckContext& context, v1::CheckResult& result, const RunSeries& run);

// The log tells no step: its records are numbered by their order, or each stands for an epoch.
bool StepsByOrder(const RunSeries& run);
bool StepsAreEpochs(const RunSeries& run);

// Reports `problems` under `missing`.
void AddProblems(const CheckContext& context, v1::CheckResult& result, const std::vector<CurveProblem>& problems);

// "npu-1" or, where a run has several engines, "npu-1, engine actor".
std::string SubjectOf(const RunSeries& run, const Curve& curve);

// The metric that has this name in `paritect inspect`; nullopt: another name.
std::optional<Metric> FindMetric(absl::string_view name);

// One of the names above, else one of the records' `metrics`.
CurveSet CurvesOfMetric(const RunSeries& run, absl::string_view name);

// Names of the metrics that the run's logs print, in byte order.
std::vector<std::string> PrintedMetrics(const RunSeries& run);

// Logs that tell of the loss scale: what was observed, where that is there, else what was printed.
std::vector<LogSource> ScaleLogs(const RunSeries& run);

// The run as the observer saw it, where it did: for its first steps, which logs need not print.
RunSeries AsObserved(const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_RUN_SERIES_H_
