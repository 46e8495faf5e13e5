// model.hyperparameters.learning-rate-curve: is the printed learning rate equal over the steps?
// Source: pre-tuning checklist, 模型超参：与基准一致. A schedule that is stepped once a rank or once a micro-batch
// runs n times as fast: LR_migrated(step) = LR_baseline(n step).
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/numbers/statistics.h"
#include "checks/observed/conduct.h"
#include "checks/runs/ratio_cause.h"
#include "checks/runs/run_pairs.h"
#include "checks/scripts/detail.h"
#include "checks/series/curves.h"
#include "checks/series/repeats.h"
#include "checks/settings/made_by_scripts.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};

constexpr int kFactorMax = 64;
constexpr std::size_t kStepsMin = 5;

constexpr double kOfLargest = 1e-6;  // what is printed of a rate that has fallen to nearly nothing

struct Limits {
  explicit Limits(const Profile& profile)
      : same(profile.threshold("printed_setting_difference")),
        fit(profile.threshold("schedule_fit")),
        fit_of_largest(profile.threshold("schedule_fit_of_largest")),
        moves(profile.threshold("schedule_moves")) {}

  // Printed with 4 to 17 digits; a schedule that is wrong is wrong by more.
  bool Same(double a, double b, double largest) const {
    return std::fabs(a - b) <= same * std::max(std::fabs(a), std::fabs(b)) + kOfLargest * largest;
  }
  // Half a step's change is lost in when exactly the value is printed.
  bool Fit(double expected, double value, double largest) const {
    return std::fabs(expected - value) <= fit * std::fabs(expected) + fit_of_largest * largest;
  }

  const double same;
  const double fit;
  const double fit_of_largest;
  const double moves;
};

double Largest(const Curve& curve) {
  double largest = 0;
  for (const CurvePoint& point : curve.points) largest = std::max(largest, std::fabs(point.value));
  return largest;
}

// The curve at a step, between its points by a straight line; nullopt outside.
std::optional<double> At(const Curve& curve, double step) {
  auto it = std::lower_bound(curve.points.begin(), curve.points.end(), step,
                             [](const CurvePoint& p, double s) { return static_cast<double>(p.step) < s; });
  if (it == curve.points.end()) return std::nullopt;
  if (static_cast<double>(it->step) == step) return it->value;
  if (it == curve.points.begin()) return std::nullopt;
  const CurvePoint& left = *(it - 1);
  const double share = (step - static_cast<double>(left.step)) / static_cast<double>(it->step - left.step);
  return left.value + share * (it->value - left.value);
}

// How well fast(step) = slow(origin + factor (step - origin) + phase) fits: share of the steps that can be tested. A
// fit over values that do not move shows nothing.
bool Fits(const Limits& limits, const Curve& slow, const Curve& fast, int factor, int phase) {
  const double largest = Largest(slow);
  const double origin = static_cast<double>(slow.points.front().step);
  std::size_t tested = 0;
  std::size_t fitting = 0;
  std::size_t moving = 0;
  std::size_t moving_fit = 0;
  double before = slow.points.front().value;
  double low = 0;
  double high = 0;
  for (const CurvePoint& point : fast.points) {
    const std::optional<double> expected =
        At(slow, origin + factor * (static_cast<double>(point.step) - origin) + phase);
    if (!expected.has_value()) continue;
    low = tested == 0 ? *expected : std::min(low, *expected);
    high = tested == 0 ? *expected : std::max(high, *expected);
    ++tested;
    const bool fits = limits.Fit(*expected, point.value, largest);
    fitting += fits ? 1 : 0;
    // Where the schedule stands still any factor fits: what tells is where it moves, on either side.
    const std::optional<double> there = At(slow, static_cast<double>(point.step));
    const bool moves = std::fabs(*expected - before) > kOfLargest * largest ||
                       (there.has_value() && !limits.Same(*there, point.value, largest));
    before = *expected;
    moving += moves ? 1 : 0;
    moving_fit += moves && fits ? 1 : 0;
  }
  return tested >= kStepsMin && fitting * 10 >= tested * 9 && moving >= kStepsMin && moving_fit * 10 >= moving * 9 &&
         high - low > limits.moves * largest;
}

// n > 1 where `fast` runs through the schedule of `slow` n times as fast.
std::optional<int> Faster(const Limits& limits, const Curve& slow, const Curve& fast) {
  if (slow.points.size() < kStepsMin || fast.points.size() < kStepsMin) return std::nullopt;
  for (int factor = 2; factor <= kFactorMax; ++factor) {
    for (const int phase : {0, factor - 1, 1 - factor}) {
      if (Fits(limits, slow, fast, factor, phase)) return factor;
    }
  }
  return std::nullopt;
}

// Equal when one curve is moved by one step: one framework prints before the scheduler steps, one after.
bool EqualShifted(const Limits& limits, const Curve& a, const Curve& b) {
  const double largest = Largest(a);
  for (const int shift : {1, -1}) {
    std::size_t tested = 0;
    std::size_t equal = 0;
    for (const CurvePoint& point : b.points) {
      const std::optional<double> expected = At(a, static_cast<double>(point.step + shift));
      if (!expected.has_value()) continue;
      ++tested;
      equal += limits.Same(*expected, point.value, largest);
    }
    if (tested >= kStepsMin && equal == tested) return true;
  }
  return false;
}

void Fill(v1::Finding& finding, const RunSeries& baseline, const AlignedCurves& aligned, std::size_t at,
          std::size_t differing) {
  finding.set_baseline(absl::StrCat("step ", aligned.steps[at], ": ", Short(aligned.a[at])));
  finding.set_migrated(absl::StrCat("step ", aligned.steps[at], ": ", Short(aligned.b[at])));
  SetFact(finding, "common_steps", static_cast<std::int64_t>(aligned.steps.size()));
  SetFact(finding, "differing_steps", static_cast<std::int64_t>(differing));
  SetFact(finding, "first_step", aligned.steps.front());
  SetFact(finding, "baseline_run", baseline.name);
  finding.add_evidence(aligned.at_b[at]->where);
}

// Where two curves differ, and at how many steps.
struct Difference {
  std::size_t first = 0;
  std::size_t differing = 0;
};

// Rates that differ and no factor explains. Where both scripts make a schedule, and not the same, that is named.
void ReportCurve(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                 const RunSeries& migrated, const AlignedCurves& aligned, const Difference& difference,
                 const std::string& subject, MessageArgs args) {
  const auto made =
      MadeOnBothSides(SettingsView::Of(context, Side::kBaseline, baseline.view),
                      SettingsView::Of(context, Side::kMigrated, migrated.view), "schedule");
  const bool named = made.has_value() && made->differ;
  if (named) {
    args.emplace_back("schedule_a", made->baseline_brief);
    args.emplace_back("schedule_b", made->migrated_brief);
  }
  v1::Finding& finding = AddError(context, result, named ? "schedule_differs/made" : "lr_curve_differs", subject, args);
  Fill(finding, baseline, aligned, difference.first, difference.differing);
  if (!named) return;
  finding.set_baseline(made->baseline_brief);
  finding.set_migrated(made->migrated_brief);
  finding.clear_evidence();
  finding.add_evidence(ScriptPlace(*made->baseline));
  finding.add_evidence(ScriptPlace(*made->migrated));
}

void ReportDifference(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                      const RunSeries& migrated, const CurvePair& pair, const AlignedCurves& aligned,
                      const Difference& difference) {
  const std::string subject = SubjectOf(migrated, pair.migrated);
  const auto [first, differing] = difference;
  MessageArgs args = {{"migrated", subject},
                      {"baseline", baseline.name},
                      {"step", absl::StrCat(aligned.steps[first])},
                      {"a", Short(aligned.a[first])},
                      {"b", Short(aligned.b[first])},
                      {"differing", absl::StrCat(differing)},
                      {"common", absl::StrCat(aligned.steps.size())}};
  const Limits limits(context.profile);
  if (EqualShifted(limits, pair.baseline, pair.migrated)) {
    Fill(AddWarning(context, result, "lr_shifted_by_one", subject, args), baseline, aligned, first, differing);
    return;
  }
  std::optional<double> factor;
  RatioCause cause;
  const auto explain = [&](double ratio) {
    factor = ratio;
    cause = CauseOfRatio(context, baseline, migrated, ratio);
    args.emplace_back("cause", cause.text);
  };
  if (const std::optional<int> faster = Faster(limits, pair.baseline, pair.migrated)) {
    explain(*faster);
    args.emplace_back("factor", absl::StrCat(*faster));
    Fill(AddError(context, result, cause.known() ? "schedule_faster/cause" : "schedule_faster", subject, args),
         baseline, aligned, first, differing);
  } else if (const std::optional<int> slower = Faster(limits, pair.migrated, pair.baseline)) {
    explain(1.0 / *slower);
    args.emplace_back("factor", absl::StrCat(*slower));
    Fill(AddError(context, result, cause.known() ? "schedule_faster/slower_cause" : "schedule_faster/slower", subject,
                  args),
         baseline, aligned, first, differing);
  } else if (const std::optional<double> ratio = ConstantRatio(aligned.a, aligned.b, RatioLimitsOf(context.profile))) {
    factor = *ratio;
    cause = CauseOfRateRatio(context, baseline, migrated, *ratio);
    args.emplace_back("cause", cause.text);
    args.emplace_back("ratio", Short(*ratio));
    Fill(AddError(context, result, cause.known() ? "learning_rate_differs/cause" : "learning_rate_differs/ratio",
                  subject, args),
         baseline, aligned, first, differing);
  } else {
    ReportCurve(context, result, baseline, migrated, aligned, difference, subject, args);
  }
  for (const std::string& place : cause.evidence) result.mutable_findings()->rbegin()->add_evidence(place);
  if (factor.has_value()) SetFact(*result.mutable_findings()->rbegin(), "ratio", *factor);
}

// How many updates were left out up to each printed step; empty: none. Whether the schedule counts updates the curves
// tell.
std::map<std::int64_t, std::int64_t> LeftOut(const RunSeries& run) {
  std::map<std::int64_t, std::int64_t> by_step;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      const bool told = !record.has_skipped() && !source.log().skipped_counted() && record.overflow();
      const std::int64_t skipped = record.has_skipped() ? record.skipped() : told ? 1 : 0;
      if (skipped > 0) by_step[record.step()] += skipped;
    }
  }
  std::int64_t total = 0;
  for (auto& [step, skipped] : by_step) skipped = total += skipped;
  return by_step;
}

// The curve over updates in place of steps. Of steps without an update the last stands.
Curve OverUpdates(const Curve& curve, const std::map<std::int64_t, std::int64_t>& left_out) {
  Curve moved = curve;
  moved.points.clear();
  for (CurvePoint point : curve.points) {
    const auto behind = left_out.upper_bound(point.step);
    if (behind != left_out.begin()) point.step -= std::prev(behind)->second;
    if (!moved.points.empty() && moved.points.back().step >= point.step) moved.points.pop_back();
    moved.points.push_back(std::move(point));
  }
  return moved;
}

// Whether two schedules that count updates are one, though updates were left out at other steps. Frameworks print the
// rate before or after the scheduler's step.
bool EqualOverUpdates(const Limits& limits, const RunSeries& baseline, const RunSeries& migrated, const Curve& a,
                      const Curve& b) {
  const std::map<std::int64_t, std::int64_t> of_a = LeftOut(baseline);
  const std::map<std::int64_t, std::int64_t> of_b = LeftOut(migrated);
  if (of_a == of_b) return false;
  const Curve left = OverUpdates(a, of_a);
  const Curve right = OverUpdates(b, of_b);
  const double largest = std::max(Largest(left), Largest(right));
  std::size_t tested = 0;
  std::size_t equal = 0;
  for (const CurvePoint& point : right.points) {
    if (!At(left, static_cast<double>(point.step)).has_value()) continue;
    ++tested;
    for (const int by : {0, -1, 1}) {
      const std::optional<double> expected = At(left, static_cast<double>(point.step + by));
      if (!expected.has_value() || !limits.Same(*expected, point.value, largest)) continue;
      ++equal;
      break;
    }
  }
  return tested >= kStepsMin && tested * 5 >= right.points.size() * 4 &&
         equal + std::max<std::size_t>(1, tested / 100) >= tested;
}

void CompareCurves(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                   const RunSeries& migrated, const CurvePair& pair) {
  const std::string subject = SubjectOf(migrated, pair.migrated);
  Curve a = pair.baseline;
  Curve b = pair.migrated;
  a.interval_means = false;  // a learning rate is printed as it stands, never averaged
  b.interval_means = false;
  const AlignedCurves aligned = Align(a, b);
  const Limits limits(context.profile);
  const double largest = std::max(Largest(a), Largest(b));
  std::size_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < aligned.steps.size(); ++i) {
    if (limits.Same(aligned.a[i], aligned.b[i], largest)) continue;
    if (differing++ == 0) first = i;
  }
  if (differing > 0 && EqualOverUpdates(limits, baseline, migrated, a, b)) {
    v1::Finding& note =
        AddNote(context, result, "measured/lr_curve_updates", subject,
                {{"migrated", subject}, {"baseline", baseline.name}, {"differing", absl::StrCat(differing)}});
    SetFact(note, "common_steps", static_cast<std::int64_t>(aligned.steps.size()));
    SetFact(note, "differing_steps", static_cast<std::int64_t>(differing));
    differing = 0;
    if (aligned.coverage >= context.profile.threshold("coverage_min")) return;
  }
  // One line may be printed in the middle of a change of epoch.
  if (differing > std::max<std::size_t>(1, aligned.steps.size() / 100)) {
    ReportDifference(context, result, baseline, migrated, pair, aligned, {first, differing});
  }
  if (aligned.steps.size() < kStepsMin || aligned.coverage < context.profile.threshold("coverage_min")) {
    AddMissing(context, result, TooFewSteps(context.profile, aligned.coverage), subject,
               {{"common", absl::StrCat(aligned.steps.size())},
                {"coverage", Percent(aligned.coverage)},
                {"needed", absl::StrCat(kStepsMin)}});
    return;
  }
  if (differing > std::max<std::size_t>(1, aligned.steps.size() / 100)) return;  // reported
  if (differing > 0) {
    v1::Finding& finding = AddWarning(context, result, "lr_single_steps", subject,
                                      {{"migrated", subject},
                                       {"baseline", baseline.name},
                                       {"differing", absl::StrCat(differing)},
                                       {"common", absl::StrCat(aligned.steps.size())},
                                       {"step", absl::StrCat(aligned.steps[first])},
                                       {"a", Short(aligned.a[first])},
                                       {"b", Short(aligned.b[first])}});
    Fill(finding, baseline, aligned, first, differing);
    return;
  }
  v1::Finding& note =
      AddNote(context, result, "measured/lr_curve", subject,
              {{"migrated", subject}, {"baseline", baseline.name}, {"common", absl::StrCat(aligned.steps.size())}});
  SetFact(note, "common_steps", static_cast<std::int64_t>(aligned.steps.size()));
}

// One schedule drives all ranks: a rank with a rate of its own is a fault by itself.
void CheckRanks(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  const Limits limits(context.profile);
  for (const Curve& curve : run.Curves(Metric::kLearningRate).curves) {
    std::map<std::int64_t, std::vector<double>> by_step;
    for (const RankPoints& rank : curve.ranks) {
      for (const CurvePoint& point : rank.points) by_step[point.step].push_back(point.value);
    }
    const double largest = Largest(curve);
    for (const RankPoints& rank : curve.ranks) {
      const auto odd = std::find_if(rank.points.begin(), rank.points.end(), [&](const CurvePoint& point) {
        return !limits.Same(point.value, Median(by_step[point.step]), largest);
      });
      if (odd == rank.points.end()) continue;
      v1::Finding& finding = AddError(context, result, "rank_parts/learning_rate", SubjectOf(run, curve),
                                      {{"run", run.name},
                                       {"rank", absl::StrCat(rank.rank)},
                                       {"step", absl::StrCat(odd->step)},
                                       {"value", Short(odd->value)},
                                       {"median", Short(Median(by_step[odd->step]))}});
      SetFact(finding, "rank", rank.rank);
      SetFact(finding, "first_divergent_step", odd->step);
      finding.add_evidence(odd->where);
    }
  }
}

// A rate that is no number trains nothing.
void CheckFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  for (const Curve& curve : run.Curves(Metric::kLearningRate).curves) {
    const auto is_bad = [](const CurvePoint& point) { return !std::isfinite(point.value); };
    const auto bad = std::find_if(curve.points.begin(), curve.points.end(), is_bad);
    if (bad == curve.points.end()) continue;
    const std::int64_t count = std::count_if(curve.points.begin(), curve.points.end(), is_bad);
    v1::Finding& finding = AddError(context, result, "lr_not_finite", SubjectOf(run, curve),
                                    {{"run", SubjectOf(run, curve)},
                                     {"value", FormatDouble(bad->value)},
                                     {"step", absl::StrCat(bad->step)},
                                     {"count", absl::StrCat(count)}});
    SetFact(finding, "step", bad->step);
    SetFact(finding, "count", count);
    finding.add_evidence(bad->where);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const ObservedPair& pair : ObservedPairs(context)) {
    CompareObservedSchedules(context, result, pair.baseline, pair.migrated);
  }
  const RunPairs pairs(context);
  for (const Side side : kBothSides) {
    pairs.RequireFinished(context, result, side);
    for (const RunSeries& run : pairs.runs(side)) {
      CheckRanks(context, result, run);
      CheckFinite(context, result, run);
    }
  }
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return;
  for (const RunSeries* migrated : pairs.Comparable(Side::kMigrated)) {
    for (const CurvePair& pair : PairCurves(context, result, *reference, *migrated, Metric::kLearningRate)) {
      CompareCurves(context, result, *reference, *migrated, pair);
    }
  }
}

}  // namespace

extern const Check kLearningRateCurve;
const Check kLearningRateCurve = {"model.hyperparameters.learning-rate-curve", kNeeds, &Evaluate};

}  // namespace paritect
