#include "checks/series/run_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/observed_logs.h"
#include "checks/series/rank_merge.h"
#include "common/utf8.h"
#include "rules/log_formats.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

constexpr std::int64_t kNoRank = -1;

using PointsByStep = absl::btree_map<std::int64_t, CurvePoint>;

std::optional<double> Read(const v1::StepRecord& record, Metric metric) {
  switch (metric) {
    case Metric::kLoss: return record.has_loss() ? std::optional<double>(record.loss()) : std::nullopt;
    case Metric::kLearningRate: return record.has_lr() ? std::optional<double>(record.lr()) : std::nullopt;
    case Metric::kGradNorm: return record.has_grad_norm() ? std::optional<double>(record.grad_norm()) : std::nullopt;
    case Metric::kLossScale: return record.has_loss_scale() ? std::optional<double>(record.loss_scale()) : std::nullopt;
    case Metric::kAccuracy:
      // That of a training batch is no evidence of what the model is worth.
      return record.has_accuracy() && !record.accuracy_of_training() ? std::optional<double>(record.accuracy())
                                                                     : std::nullopt;
    case Metric::kEvalLoss: return record.has_eval_loss() ? std::optional<double>(record.eval_loss()) : std::nullopt;
    case Metric::kSamples:
      return record.has_samples() ? std::optional<double>(static_cast<double>(record.samples())) : std::nullopt;
  }
  return std::nullopt;
}

// One of the metrics that every log has, or one of its own by name.
struct WantedMetric {
  std::optional<Metric> known;
  std::string name;

  bool is(Metric metric) const { return known == metric; }
  bool of_evaluation() const {
    return known.has_value() ? is(Metric::kAccuracy) || is(Metric::kEvalLoss) : FindEvaluationMetric(name) != nullptr;
  }
  std::optional<double> In(const v1::StepRecord& record) const {
    if (known.has_value()) return Read(record, *known);
    const auto found = record.metrics().find(name);
    return found == record.metrics().end() ? std::nullopt : std::optional<double>(found->second);
  }
};

constexpr Metric kAllMetrics[] = {Metric::kLoss,     Metric::kLearningRate, Metric::kGradNorm, Metric::kLossScale,
                                  Metric::kAccuracy, Metric::kEvalLoss,     Metric::kSamples};

// Equal as printed: within the last digits, or both NaN.
bool SameValue(const CurvePoint& a, const CurvePoint& b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
  if (a.value == b.value) return true;
  // Event files hold floats of 32 bits, text a few digits.
  const double allowed = 1.01 * (a.resolution + b.resolution) + 1.2e-7 * std::fabs(a.value);
  return std::fabs(a.value - b.value) <= allowed;
}

bool Agree(const PointsByStep& a, const PointsByStep& b) {
  for (const auto& [step, point] : a) {
    auto it = b.find(step);
    if (it != b.end() && !SameValue(point, it->second)) return false;
  }
  return true;
}

bool HasNote(const v1::RunLog& log, absl::string_view kind) {
  return std::any_of(log.notes().begin(), log.notes().end(), [&](const v1::Note& n) { return n.kind() == kind; });
}

// How far `other`'s mean lies from `chosen`'s, where there are ten steps to tell it from. Ranks train on other samples,
// so each step differs: what counts is the distance in standard errors. Zeros and what is not finite are values that a
// rank does not have (the stages of a pipeline before the last).
std::optional<RankSpread> SpreadOf(std::int64_t rank, const PointsByStep& chosen, const PointsByStep& other) {
  constexpr int kStepsMin = 10;
  double n = 0;
  double sum = 0;
  double difference = 0;
  double squares = 0;
  for (const auto& [step, point] : other) {
    const auto at = chosen.find(step);
    if (at == chosen.end()) continue;
    const double a = at->second.value;
    const double b = point.value;
    if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) continue;
    ++n;
    sum += a;
    difference += b - a;
    squares += (b - a) * (b - a);
  }
  if (n < kStepsMin || sum == 0 || difference == 0) return std::nullopt;
  const double variance = std::max(0.0, (squares - difference * difference / n) / (n - 1));
  const double error = std::sqrt(variance / n);
  return RankSpread{rank, std::fabs(difference / sum),
                    error > 0 ? std::fabs(difference / n) / error : std::numeric_limits<double>::infinity()};
}

// The points of one metric by (engine, rank), gathered log by log.
class Gatherer {
 public:
  Gatherer(const RunSeries& run, WantedMetric metric) : run_(run), metric_(std::move(metric)) {}

  CurveSet Gather() {
    for (const LogSource& source : run_.logs) AddLog(source);
    // What nobody printed may have been observed.
    const bool printed = !groups_.empty() || !problems_.empty() || run_.logs.empty() || IsObserved(run_.logs.front());
    if (!printed) {
      for (const LogSource& source : ObservedLogs(run_.view)) AddLog(source);
    }
    CurveSet set;
    std::map<std::string, std::map<std::int64_t, const Group*>> engines;
    for (const auto& [key, group] : groups_) engines[key.first][key.second] = &group;
    for (const auto& [engine, ranks] : engines) set.curves.push_back(MakeCurve(engine, ranks));
    set.problems = std::move(problems_);
    set.by_order = by_order_;
    if (!set.problems.empty()) set.curves.clear();
    return set;
  }

 private:
  struct Group {
    PointsByStep points;
    bool interval_means = false;
    bool last_rank = false;
  };
  using Key = std::pair<std::string, std::int64_t>;

  void AddProblem(absl::string_view id, const LogSource& source) {
    const std::string file = DisplayBytes(source.evidence->source());
    problems_.push_back(
        {std::string(id), {{"source", file}, {"run", run_.name}}, WhereFrom(*source.bundle, *source.evidence)});
  }

  void AddLog(const LogSource& source) {
    const v1::RunLog& log = source.log();
    std::map<Key, PointsByStep> parts;
    std::int64_t evaluations = 0;
    bool repeated = false;
    bool disagree = false;
    bool without_rank = false;  // lines of several ranks in one file are no two writers of one curve
    const bool of_evaluation = metric_.of_evaluation();
    // An evaluation may be told by its place in the log alone, where no other is told by its step.
    const bool ordered =
        of_evaluation && std::none_of(log.records().begin(), log.records().end(), [&](const auto& one) {
          return !one.step_unknown() && metric_.In(one).has_value();
        });
    for (const v1::StepRecord& record : log.records()) {
      const std::optional<double> value = metric_.In(record);
      const bool by_order = record.step_unknown() && ordered;
      if (!value.has_value() || (record.step_unknown() && !by_order)) continue;
      by_order_ = by_order_ || by_order;
      std::int64_t rank = kNoRank;
      if (record.has_rank()) {
        rank = record.rank();
      } else if (source.evidence->has_rank()) {
        rank = source.evidence->rank();
      }
      without_rank = without_rank || rank == kNoRank;
      CurvePoint point{by_order ? ++evaluations : record.step(),
                       *value,
                       metric_.is(Metric::kLoss) ? record.loss_resolution() : 0,
                       {source.evidence, record.line()},
                       metric_.is(Metric::kAccuracy) && record.accuracy_in_points()};
      auto [it, added] = parts[{record.engine(), rank}].try_emplace(point.step, point);
      if (added) continue;
      repeated = true;
      disagree = disagree || !SameValue(it->second, point);
      it->second = point;
    }
    if (parts.empty()) return;
    if (HasNote(log, "two_runs_in_one_file")) {
      AddProblem("curve_two_runs", source);
      return;
    }
    if (HasNote(log, "interleaved_writers") && without_rank && (!repeated || disagree)) {
      AddProblem("curve_interleaved", source);
      return;
    }
    if (disagree) {
      AddProblem("curve_repeated_steps", source);
      return;
    }
    for (auto& [key, points] : parts) Join(key, std::move(points), source);
  }

  // Adds a part to what is there of the same engine and rank.
  void Join(const Key& key, PointsByStep part, const LogSource& source) {
    Group& group = groups_[key];
    group.interval_means = group.interval_means || source.log().interval_means();
    group.last_rank = group.last_rank || FactsOfLogFormat(source.log().format()).prints_on_last_rank;
    if (group.points.empty()) {
      group.points = std::move(part);
      return;
    }
    if (Agree(group.points, part)) {
      group.points.merge(part);
      return;
    }
    const bool later =
        part.begin()->first > group.points.begin()->first && part.rbegin()->first >= group.points.rbegin()->first;
    const bool earlier =
        part.begin()->first < group.points.begin()->first && part.rbegin()->first <= group.points.rbegin()->first;
    if (later) {
      part.merge(group.points);  // keeps what `part` has: the later part wins
      group.points = std::move(part);
    } else if (earlier) {
      group.points.merge(part);
    } else {
      AddProblem("curve_logs_disagree", source);
    }
  }

  Curve MakeCurve(const std::string& engine, const std::map<std::int64_t, const Group*>& ranks) {
    const Group* chosen = ranks.begin()->second;
    bool agree = true;
    for (const auto& [rank, group] : ranks) agree = agree && Agree(chosen->points, group->points);
    PointsByStep points;
    if (agree) {
      for (const auto& [rank, group] : ranks) points.insert(group->points.begin(), group->points.end());
    } else {
      auto zero = ranks.find(0);
      if (chosen->last_rank || ranks.rbegin()->second->last_rank) {
        chosen = ranks.rbegin()->second;
      } else if (zero != ranks.end()) {
        chosen = zero->second;
      }
      points = chosen->points;
    }
    Curve curve;
    curve.engine = engine;
    // Of what is printed once an interval only the loss is its mean; rates and norms are the last step's.
    curve.interval_means = chosen->interval_means && metric_.is(Metric::kLoss);
    for (const auto& [rank, group] : ranks) {
      if (agree) break;
      if (const auto spread = SpreadOf(rank, points, group->points)) curve.spreads.push_back(*spread);
    }
    for (auto& [step, point] : points) curve.points.push_back(std::move(point));
    if (!agree) TakeRanks(ranks, curve);
    return curve;
  }

  // Values of a rank's own batch: the run's value is their mean, where all ranks tell theirs.
  void TakeRanks(const std::map<std::int64_t, const Group*>& ranks, Curve& curve) const {
    const bool own = metric_.is(Metric::kLoss) || metric_.is(Metric::kGradNorm) || metric_.is(Metric::kAccuracy) ||
                     metric_.is(Metric::kEvalLoss) || metric_.is(Metric::kLearningRate);
    if (!own || ranks.begin()->first == kNoRank) return;
    for (const auto& [rank, group] : ranks) {
      RankPoints& one = curve.ranks.emplace_back();
      one.rank = rank;
      for (const auto& [step, point] : group->points) one.points.push_back(point);
    }
    int world_size = 0;
    for (const v1::Bundle* bundle : run_.view.nodes) world_size = std::max(world_size, bundle->plan().world_size());
    if (metric_.is(Metric::kLearningRate) || !AllRanks(curve.ranks, world_size)) return;
    std::vector<CurvePoint> mean = MeanOverRanks(curve.ranks);
    if (mean.empty()) return;
    curve.points = std::move(mean);
    curve.mean_of_ranks = true;
  }

  const RunSeries& run_;
  const WantedMetric metric_;
  std::map<Key, Group> groups_;
  std::vector<CurveProblem> problems_;
  bool by_order_ = false;
};

std::optional<std::int64_t> LastStep(const v1::RunLog& log) {
  std::optional<std::int64_t> last;
  if (log.end().has_last_step()) last = log.end().last_step();
  for (const v1::StepRecord& record : log.records()) {
    if (!record.step_unknown()) last = std::max(last.value_or(record.step()), record.step());
  }
  return last;
}

// Aborted beats finished beats unfinished beats silence among logs that reach the same step.
int EndRank(v1::RunEnd::State state) {
  switch (state) {
    case v1::RunEnd::STATE_ABORTED: return 3;
    case v1::RunEnd::STATE_FINISHED: return 2;
    case v1::RunEnd::STATE_UNFINISHED: return 1;
    default: return 0;
  }
}

// What records tell beside the metrics that every log has, by name. Nearly every record tells the same.
const std::set<std::string>& OwnNames(const RunSeries& run) {
  struct Names {
    std::set<std::string> names;
  };
  return run.views
      ->Get<Names>({},
                   [&] {
                     Names own;
                     for (const LogSource& source : run.logs) {
                       for (const v1::StepRecord& record : source.log().records()) {
                         for (const auto& [name, value] : record.metrics()) own.names.insert(name);
                       }
                     }
                     return own;
                   })
      .names;
}

// The ending of the log that goes furthest: earlier parts of a resumed run end early by nature.
RunEnding EndingOf(const RunSeries& run) {
  RunEnding ending;
  std::tuple<std::int64_t, int> best{-1, -1};
  for (const LogSource& source : run.logs) {
    const v1::RunLog& log = source.log();
    const std::optional<std::int64_t> last = LastStep(log);
    const std::tuple<std::int64_t, int> mine{last.value_or(-1), EndRank(log.end().state())};
    if (mine <= best) continue;
    best = mine;
    ending.state = log.end().state();
    ending.words = log.end().evidence();
    ending.where = Where(source, log.end().line());
    ending.last_step = last;
    ending.total_steps.reset();
    if (log.end().has_total_steps()) ending.total_steps = log.end().total_steps();
  }
  return ending;
}

}  // namespace

absl::string_view MetricName(Metric metric) {
  switch (metric) {
    case Metric::kLoss: return "loss";
    case Metric::kLearningRate: return "lr";
    case Metric::kGradNorm: return "grad_norm";
    case Metric::kLossScale: return "loss_scale";
    case Metric::kAccuracy: return "accuracy";
    case Metric::kEvalLoss: return "eval_loss";
    case Metric::kSamples: return "samples";
  }
  return "";
}

std::string PlaceInLog::Text() const {
  if (evidence == nullptr) return "";
  const std::string file = DisplayBytes(evidence->source());
  return line > 0 ? absl::StrCat(file, ":", line) : file;
}

std::string Where(const LogSource& source, std::int64_t line) {
  return PlaceInLog{source.evidence, line}.Text();
}

Curve FiniteOnly(const Curve& curve) {
  Curve result;
  result.engine = curve.engine;
  result.interval_means = curve.interval_means;
  result.mean_of_ranks = curve.mean_of_ranks;
  for (const CurvePoint& point : curve.points) {
    if (std::isfinite(point.value)) result.points.push_back(point);
  }
  return result;
}

std::optional<Metric> FindMetric(absl::string_view name) {
  for (const Metric metric : kAllMetrics) {
    if (MetricName(metric) == name) return metric;
  }
  return std::nullopt;
}

const CurveSet& RunSeries::Curves(Metric metric) const {
  // A metric's entry in the list of all stands for it.
  const Metric* const place = std::find(std::begin(kAllMetrics), std::end(kAllMetrics), metric);
  return views->Get<CurveSet>({place}, [&] { return Gatherer(*this, {metric, ""}).Gather(); });
}

CurveSet CurvesOfMetric(const RunSeries& run, absl::string_view name) {
  if (const std::optional<Metric> known = FindMetric(name)) return run.Curves(*known);
  return Gatherer(run, {std::nullopt, std::string(name)}).Gather();
}

std::vector<std::string> PrintedMetrics(const RunSeries& run) {
  std::set<std::string> names = OwnNames(run);
  for (const Metric metric : kAllMetrics) {
    const bool printed = std::any_of(run.logs.begin(), run.logs.end(), [&](const LogSource& source) {
      const auto& records = source.log().records();
      return std::any_of(records.begin(), records.end(),
                         [&](const v1::StepRecord& record) { return Read(record, metric).has_value(); });
    });
    if (printed) names.emplace(MetricName(metric));
  }
  return {names.begin(), names.end()};
}

std::vector<RunSeries> MakeSeries(const EvidenceSet& evidence, Side side, v1::Role role) {
  std::vector<RunSeries> result;
  for (const RunView& view : evidence.Runs(side, role)) {
    RunSeries run;
    run.name = view.name;
    run.side = side;
    run.view = view;
    for (const v1::Bundle* bundle : view.nodes) {
      for (const v1::Evidence& one : bundle->evidence()) {
        if (one.kind() == v1::EVIDENCE_KIND_RUN_LOG && one.outcome() == v1::OUTCOME_COLLECTED && one.has_run_log()) {
          const LogSource source = {bundle, &one};
          if (!IsObserved(source)) run.logs.push_back(source);
        }
      }
    }
    if (run.logs.empty()) run.logs = ObservedLogs(view);
    run.ending = EndingOf(run);
    result.push_back(std::move(run));
  }
  return result;
}

const std::vector<RunSeries>& SeriesOf(const CheckContext& context, Side side, v1::Role role) {
  static constexpr char kPlaces[2][2] = {};  // an address for each side and role
  const void* place = &kPlaces[side == Side::kBaseline ? 0 : 1][role == v1::ROLE_FP32_REFERENCE ? 1 : 0];
  return context.views->Get<std::vector<RunSeries>>({place}, [&] { return MakeSeries(context.evidence, side, role); });
}

std::string SubjectOf(const RunSeries& run, const Curve& curve) {
  return curve.engine.empty() ? run.name : absl::StrCat(run.name, ", engine ", curve.engine);
}

void AddProblems(const CheckContext& context, v1::CheckResult& result, const std::vector<CurveProblem>& problems) {
  for (const CurveProblem& problem : problems)
    AddMissing(context, result, problem.message_id, problem.from, problem.args);
}

// --- what a run's evaluations came to
// ---------------------------------------------------------------------------------

namespace {

// Preferences: accuracy, other measures of quality, then what only tells how well the model predicts.
constexpr int kOtherQuality = 10;
constexpr int kEvalLoss = 50;
constexpr int kRankOfPerplexity = 8;

bool Fill(const CurveSet& set, FinalMetric& metric) {
  if (set.curves.size() != 1) return false;
  if (set.curves[0].points.empty()) return false;
  double largest = 0;
  bool any_in_points = false;
  const CurvePoint* last = &set.curves[0].points.back();
  for (const CurvePoint& point : set.curves[0].points) {
    if (!std::isfinite(point.value)) continue;
    any_in_points = any_in_points || point.in_points;
    if (!point.in_points) largest = std::max(largest, point.value);
  }
  const bool fraction = metric.is_share && largest <= 1 && !last->in_points;
  metric.printed = last->value;
  metric.value = fraction ? last->value * 100 : last->value;
  // A run that prints both forms is told in points.
  if (fraction && any_in_points) metric.printed = metric.value;
  metric.finite = std::isfinite(last->value);
  metric.where = last->where;
  if (!set.by_order) metric.step = last->step;
  return true;
}

// Metrics of the run's own that measure a model, by their common name; of several spellings the first in byte order.
std::map<std::string, std::string> OwnMetrics(const RunSeries& run) {
  std::map<std::string, std::string> own;
  for (const std::string& name : OwnNames(run)) {
    if (const EvaluationMetric* metric = FindEvaluationMetric(name)) own.emplace(metric->name, name);
  }
  return own;
}

std::vector<FinalMetric> MakeFinals(const RunSeries& run) {
  std::vector<FinalMetric> finals;
  FinalMetric accuracy;
  accuracy.name = "accuracy";
  accuracy.is_accuracy = accuracy.is_share = accuracy.higher_is_better = accuracy.of_quality = true;
  if (Fill(run.Curves(Metric::kAccuracy), accuracy)) finals.push_back(accuracy);
  for (const auto& [common, printed] : OwnMetrics(run)) {
    const EvaluationMetric& known = *FindEvaluationMetric(printed);
    FinalMetric metric;
    metric.name = common;
    metric.is_share = known.sense.points;
    metric.higher_is_better = known.sense.higher_is_better;
    metric.of_quality = known.rank < kRankOfPerplexity;
    metric.preference = (metric.of_quality ? kOtherQuality : kEvalLoss) + known.rank;
    if (Fill(CurvesOfMetric(run, printed), metric)) finals.push_back(metric);
  }
  FinalMetric loss;
  loss.name = "eval_loss";
  loss.preference = kEvalLoss;
  if (Fill(run.Curves(Metric::kEvalLoss), loss)) finals.push_back(loss);
  // A validation loss after it: its evaluation is not the last one.
  for (FinalMetric& metric : finals) {
    if (metric.step && loss.step && *loss.step > *metric.step) metric.later = loss.step;
  }
  std::stable_sort(finals.begin(), finals.end(),
                   [](const FinalMetric& a, const FinalMetric& b) { return a.preference < b.preference; });
  return finals;
}

}  // namespace

const std::vector<FinalMetric>& RunSeries::Finals() const {
  return views->Get<std::vector<FinalMetric>>({}, [&] { return MakeFinals(*this); });
}

std::optional<FinalMetric> RunSeries::Final() const {
  const std::vector<FinalMetric>& finals = Finals();
  return finals.empty() ? std::nullopt : std::optional<FinalMetric>(finals.front());
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
  seen.views = std::make_shared<Views>();  // what was derived from the printed logs is not of these
  if (std::vector<LogSource> observed = ObservedLogs(run.view); !observed.empty()) seen.logs = std::move(observed);
  return seen;
}

}  // namespace paritect
