#include "checks/runs/run_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/runs/step_axis.h"
#include "checks/series/rank_curves.h"
#include "checks/series/repeats.h"
#include "checks/series/run_copies.h"

namespace paritect {
namespace {

// The run's only curve or the one of that engine; nullptr with the reason under `missing`.
const Curve* FindCurve(const CurveSet& set, const std::string& engine) {
  for (const Curve& curve : set.curves) {
    if (curve.engine == engine) return &curve;
  }
  return nullptr;
}

// A rank whose log ends before the others' ends the mean of all with it.
void MissShortRanks(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Curve& curve) {
  std::int64_t longest = 0;
  for (const RankPoints& rank : curve.ranks) longest = std::max(longest, rank.points.back().step);
  const double enough = (1 - context.profile.threshold("finished_tolerance")) * static_cast<double>(longest);
  for (const RankPoints& rank : curve.ranks) {
    if (static_cast<double>(rank.points.back().step) >= enough) continue;
    AddMissing(context, result, "rank_log_short", run.name,
               {{"run", run.name},
                {"rank", absl::StrCat(rank.rank)},
                {"last", absl::StrCat(rank.points.back().step)},
                {"longest", absl::StrCat(longest)}});
  }
}

// The rank whose mean lies furthest from the curve's, by more than a curve's end may and than chance makes it.
const RankSpread* FurthestRank(const Profile& profile, const Curve& curve) {
  const RankSpread* furthest = nullptr;
  for (const RankSpread& spread : curve.spreads) {
    if (spread.relative <= profile.threshold("loss_tail_relative_difference")) continue;
    if (spread.errors <= profile.threshold("rank_mean_errors")) continue;
    if (furthest == nullptr || spread.relative > furthest->relative) furthest = &spread;
  }
  return furthest;
}

bool Usable(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, Metric metric, CurveSpan span,
            const CurveSet& set) {
  AddProblems(context, result, set.problems);
  if (!set.problems.empty()) return false;
  // A curve of one rank speaks for the others only where they train alike.
  for (const Curve& curve : set.curves) {
    if (metric != Metric::kLoss) break;
    if (!curve.ranks.empty() && span == CurveSpan::kWhole) MissShortRanks(context, result, run, curve);
    if (curve.mean_of_ranks) continue;
    const RankSpread* furthest = FurthestRank(context.profile, curve);
    if (furthest == nullptr) continue;
    AddMissing(context, result, "curve_ranks_differ", run.name,
               {{"run", run.name},
                {"metric", std::string(MetricName(metric))},
                {"rank", absl::StrCat(furthest->rank)},
                {"relative", Percent(furthest->relative)}});
  }
  if (!set.curves.empty()) return true;
  AddMissing(context, result, "metric_not_printed", run.name,
             {{"run", run.name}, {"metric", std::string(MetricName(metric))}});
  return false;
}

// Lines that are numbered by their order are the same steps only where both sides print as often: where the epochs that
// stand in them say so.
bool SameOrderSteps(const CheckContext& context, v1::CheckResult& result, const RunSeries& a, const RunSeries& b) {
  if (!StepsByOrder(a) && !StepsByOrder(b)) return true;
  const auto epoch_at = [](const RunSeries& run) {
    std::map<std::int64_t, double> epochs;
    for (const LogSource& source : run.logs) {
      for (const v1::StepRecord& record : source.log().records()) {
        if (record.has_epoch() && record.has_loss()) epochs[record.step()] = record.epoch();
      }
    }
    return epochs;
  };
  const std::map<std::int64_t, double> epochs_a = epoch_at(a);
  const std::map<std::int64_t, double> epochs_b = epoch_at(b);
  constexpr double kTwoDigits = 0.0101;  // one unit of an epoch's second digit
  std::int64_t common = 0;
  std::int64_t apart = 0;
  for (const auto& [step, epoch] : epochs_a) {
    const auto other = epochs_b.find(step);
    if (other == epochs_b.end()) continue;
    ++common;
    // Epochs are printed with two digits or four.
    const double within = context.profile.threshold("epoch_difference") * std::max(epoch, other->second) + kTwoDigits;
    apart += std::fabs(other->second - epoch) > within ? 1 : 0;
  }
  if (common > 0 && apart == 0 && StepsByOrder(a) == StepsByOrder(b)) return true;
  for (const RunSeries* run : {&a, &b}) {
    if (StepsByOrder(*run)) AddMissing(context, result, "steps_not_known", run->name, {{"run", run->name}});
  }
  return false;
}

// Where both sides print terms of their loss in its place, sums of other terms are other quantities.
bool SameTerms(const CheckContext& context, v1::CheckResult& result, const RunSeries& a, const RunSeries& b) {
  const auto terms_of = [](const RunSeries& run) {
    std::set<std::string> terms;
    for (const LogSource& source : run.logs) {
      for (const v1::Note& note : source.log().notes()) {
        if (note.kind() == "loss_term") terms.insert(note.message());
      }
    }
    return terms;
  };
  const std::set<std::string> of_a = terms_of(a);
  const std::set<std::string> of_b = terms_of(b);
  if (of_a.empty() || of_b.empty() || of_a == of_b) return true;
  AddMissing(context, result, "loss_terms_differ", b.name,
             {{"baseline", a.name},
              {"migrated", b.name},
              {"baseline_terms", absl::StrJoin(of_a, " + ")},
              {"migrated_terms", absl::StrJoin(of_b, " + ")}});
  return false;
}

// Steps from one printed loss to the next, about.
std::int64_t PrintInterval(const RunSeries& run) {
  const CurveSet& set = run.Curves(Metric::kLoss);
  if (set.curves.empty() || set.curves[0].points.size() < 2) return 0;
  const std::vector<CurvePoint>& points = set.curves[0].points;
  return (points.back().step - points.front().step) / static_cast<std::int64_t>(points.size() - 1);
}

}  // namespace

RunPairs::RunPairs(const CheckContext& context)
    : baseline_(SeriesOf(context, Side::kBaseline)), migrated_(SeriesOf(context, Side::kMigrated)) {
  finished_[0] = Finished(context.profile, baseline_);
  finished_[1] = Finished(context.profile, migrated_);
}

bool RunPairs::GoesAsFar(const CheckContext& context, const RunSeries& run) const {
  const RunSeries* other = reference();
  if (run.side == Side::kBaseline || other == nullptr || !other->ending.last_step.has_value()) return false;
  const StepAxis axis = ChooseAxis(context, *other, run, {}, {});
  return static_cast<double>(run.ending.last_step.value_or(-1)) * axis.migrated_per_step >=
         (1 - context.profile.threshold("finished_tolerance")) * static_cast<double>(*other->ending.last_step) *
             axis.baseline_per_step;
}

std::vector<const RunSeries*> RunPairs::Comparable(Side side) const {
  if (!finished(side).finished.empty()) return finished(side).finished;
  std::vector<const RunSeries*> result;
  for (const RunSeries& run : runs(side)) {
    if (!run.logs.empty()) result.push_back(&run);
  }
  return result;
}

const RunSeries* RunPairs::reference() const {
  const std::vector<const RunSeries*> comparable = Comparable(Side::kBaseline);
  return comparable.empty() ? nullptr : comparable.front();
}

void RunPairs::RequireFinished(const CheckContext& context, v1::CheckResult& result, Side side) const {
  const FinishedRuns& runs = finished(side);
  if (side == Side::kMigrated) RequireOther(context, result);
  for (const RunSeries* run : Comparable(side)) {
    if (side == Side::kMigrated || run == reference()) AddHole(context, result, *run);
  }
  for (const FinishedRuns::Left& left : runs.others) {
    if (left.run->logs.empty()) continue;  // reported as evidence that is not there
    if (runs.finished.empty() && !GoesAsFar(context, *left.run)) {
      AddMissing(context, result, left.message_id, left.run->name, left.args);
    } else {
      AddNote(context, result, left.message_id, left.run->name, left.args);
    }
  }
  if (side == Side::kMigrated) RequireAsFar(context, result);
}

// The baseline's own log on the migrated side agrees with the baseline, and that says nothing.
void RunPairs::RequireOther(const CheckContext& context, v1::CheckResult& result) const {
  for (const RunSeries& run : migrated_) {
    for (const RunSeries& first : baseline_) {
      const std::optional<Copy> copy = CopyOf(first, run);
      if (!copy.has_value()) continue;
      AddMissing(context, result, "migrated_is_baseline", run.name,
                 {{"run", run.name},
                  {"first", first.name},
                  {"source", copy->source},
                  {"first_source", copy->first_source},
                  {"how", copy->how}});
    }
  }
}

// A log without an end mark proves no more than it holds: where the reference goes on, its rest may be lost.
void RunPairs::RequireAsFar(const CheckContext& context, v1::CheckResult& result) const {
  const RunSeries* other = reference();
  if (other == nullptr || !other->ending.last_step.has_value()) return;
  const std::int64_t longest = *other->ending.last_step;
  for (const RunSeries* run : finished(Side::kMigrated).finished) {
    // An early stop at a target states no total.
    const bool told = run->ending.state == v1::RunEnd::STATE_FINISHED && run->ending.total_steps.has_value() &&
                      other->ending.state == v1::RunEnd::STATE_FINISHED && other->ending.total_steps.has_value();
    if (run->ending.state != v1::RunEnd::STATE_UNSPECIFIED && !told) continue;
    const std::int64_t last = run->ending.last_step.value_or(0);
    const StepAxis axis = ChooseAxis(context, *other, *run, {}, {});
    if (static_cast<double>(last + PrintInterval(*run)) * axis.migrated_per_step >=
        (1 - context.profile.threshold("finished_tolerance")) * static_cast<double>(longest) * axis.baseline_per_step) {
      continue;
    }
    AddMissing(context, result, told ? "run_is_shorter" : "run_stops_early", run->name,
               {{"run", run->name}, {"last", absl::StrCat(last)}, {"longest", absl::StrCat(longest)}});
  }
}

std::vector<CurvePair> PairCurves(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                                  const RunSeries& migrated, Metric metric, CurveSpan span) {
  const CurveSet& a = baseline.Curves(metric);
  const CurveSet& b = migrated.Curves(metric);
  const bool a_usable = Usable(context, result, baseline, metric, span, a);
  const bool b_usable = Usable(context, result, migrated, metric, span, b);
  if (!SameOrderSteps(context, result, baseline, migrated)) return {};
  if (metric == Metric::kLoss && !SameTerms(context, result, baseline, migrated)) return {};
  std::vector<CurvePair> pairs;
  if (!a_usable || !b_usable) return pairs;
  const auto add = [&](Curve left, Curve right) {
    PairRanks(context.profile, left, right);
    pairs.push_back({FiniteOnly(left), FiniteOnly(right)});
  };
  if (a.curves.size() == 1 && b.curves.size() == 1) {
    add(a.curves[0], b.curves[0]);
    return pairs;
  }
  for (const Curve& curve : a.curves) {
    if (const Curve* other = FindCurve(b, curve.engine)) {
      add(curve, *other);
    } else {
      AddMissing(context, result, "engine_not_printed", migrated.name,
                 {{"run", migrated.name}, {"engine", curve.engine}});
    }
  }
  return pairs;
}

}  // namespace paritect
