#include "checks/live_comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "checks/curves.h"
#include "checks/loss_comparison.h"
#include "checks/nonfinite.h"
#include "checks/overflow.h"
#include "checks/repeats.h"
#include "checks/run_pairs.h"
#include "checks/statistics.h"

namespace paritect {
namespace {

constexpr std::size_t kRecent = 20;  // common steps that "now" means
constexpr std::size_t kFirst = 5;    // common steps before anything is said of curves
constexpr double kTight = 0.005;     // curves that follow each other so closely read the same data
constexpr double kSingleFactor = 5;  // one value beyond so many limits of the mean is no rounding
constexpr double kLooseFactor = 12;  // ... and so many usual differences, where the curves follow loosely
constexpr std::size_t kLooseInRow = 3;
constexpr double kUnpaired = 0.25;        // smoothed curves of two shuffles do not lie so far apart
constexpr std::int64_t kCleanSteps = 20;  // without overflow: the search for the first scale is over
constexpr std::int64_t kSkippedSure = 10;

// ---- losses ----

struct Parting {
  std::size_t shown = 0;  // index of the value that is told
  std::size_t since = 0;  // where the curves part
  double limit = 0;
  bool paired = false;
};

// Relative differences, what rounding and the absolute limit explain left out.
std::vector<double> Differences(const AlignedCurves& curves, const CurveLimits& limits) {
  std::vector<double> out;
  for (std::size_t i = 0; i < curves.steps.size(); ++i) {
    const double apart = std::fabs(curves.b[i] - curves.a[i]) - curves.rounding[i];
    const double size = std::fabs(curves.a[i]);
    const bool small = apart <= 0 || std::fabs(curves.b[i] - curves.a[i]) <= limits.mean_absolute;
    out.push_back(small ? 0 : size > 0 ? apart / size : 1);
  }
  return out;
}

AlignedCurves Head(const AlignedCurves& curves, std::size_t n) {
  AlignedCurves head = curves;
  head.steps.resize(n);
  head.a.resize(n);
  head.b.resize(n);
  head.rounding.resize(n);
  head.at_b.resize(n);
  return head;
}

// Whether the steps before the newest ones move together: what has just parted must not decide it.
bool ArePaired(const AlignedCurves& curves, const CurveLimits& limits, double typical) {
  if (curves.estimated) return false;
  if (typical <= kTight) return true;
  const std::size_t n = curves.steps.size();
  return n > kRecent && Compare(Head(curves, std::max(kRecent, n - kRecent)), limits).mode == CurveMode::kPaired;
}

std::optional<Parting> FindPairedParting(const std::vector<double>& apart, const CurveLimits& limits, double typical) {
  const std::size_t n = apart.size();
  Parting parting{n - 1, n - 1, limits.mean_relative, true};
  const bool tight = typical <= kTight;
  const double single = std::max(kSingleFactor * limits.mean_relative, tight ? 0 : kLooseFactor * typical);
  const std::size_t in_row = tight ? 1 : kLooseInRow;
  std::size_t row = 0;
  for (std::size_t i = 0; i < n; ++i) {
    row = apart[i] > single ? row + 1 : 0;
    if (row < in_row || i + 1 < kFirst) continue;
    parting.shown = i;
    parting.since = i + 1 - row;
    parting.limit = single;
    return parting;
  }
  if (n < kRecent) return std::nullopt;
  const std::vector<double> recent(apart.end() - static_cast<std::ptrdiff_t>(kRecent), apart.end());
  if (Median(recent) <= limits.mean_relative) return std::nullopt;
  while (parting.since > 0 && apart[parting.since - 1] > limits.mean_relative / 2) --parting.since;
  return parting;
}

std::optional<Parting> FindUnpairedParting(const AlignedCurves& curves) {
  const std::size_t n = curves.steps.size();
  const std::size_t last = n < kRecent ? kFirst : kRecent / 2;
  const std::vector<double> a = n < kRecent ? curves.a : Smooth(curves.a, static_cast<int>(kRecent / 2));
  const std::vector<double> b = n < kRecent ? curves.b : Smooth(curves.b, static_cast<int>(kRecent / 2));
  const bool above = b.back() > a.back();
  for (std::size_t i = n - last; i < n; ++i) {
    const double apart = std::fabs(b[i] - a[i]);
    if ((b[i] > a[i]) != above || apart <= kUnpaired * std::fabs(a[i])) return std::nullopt;
  }
  return Parting{n - 1, n - last, kUnpaired, false};
}

LiveFinding TellParting(const CheckContext& context, const RunSeries& baseline, const RunSeries& run,
                        const std::string& subject, const AlignedCurves& curves, const Parting& parting) {
  const double a = curves.a[parting.shown];
  const double b = curves.b[parting.shown];
  const double relative = a != 0 ? (b - a) / std::fabs(a) : 1;
  v1::CheckResult result;
  v1::Finding& finding = AddError(context, result, "loss_differs/live", subject,
                                  {{"migrated", subject},
                                   {"baseline", baseline.name},
                                   {"step", absl::StrCat(curves.steps[parting.shown])},
                                   {"since", absl::StrCat(curves.steps[parting.since])},
                                   {"value", Short(b)},
                                   {"expected", Short(a)},
                                   {"error", Percent(std::fabs(relative))},
                                   {"limit", Percent(parting.limit)}});
  finding.set_baseline(absl::StrCat("step ", curves.steps[parting.shown], ": ", Short(a)));
  finding.set_migrated(absl::StrCat("step ", curves.steps[parting.shown], ": ", Short(b)));
  SetFact(finding, "step", curves.steps[parting.shown]);
  SetFact(finding, "first_divergent_step", curves.steps[parting.since]);
  SetFact(finding, "baseline_loss", a);
  SetFact(finding, "migrated_loss", b);
  SetFact(finding, "relative_difference", relative);
  SetFact(finding, "limit", parting.limit);
  SetFact(finding, "mode", parting.paired ? "paired" : "unpaired");
  SetFact(finding, "common_steps", static_cast<std::int64_t>(curves.steps.size()));
  finding.add_evidence(curves.at_b[parting.shown]->where);
  return {"divergence", run.name, curves.steps[parting.since], std::move(finding)};
}

void CompareRun(const CheckContext& context, const RunPairs& pairs, const RunSeries& run,
                const std::vector<LossComparison>& wholes, std::vector<LiveFinding>& out) {
  const RunSeries& baseline = *pairs.reference();
  v1::CheckResult scratch;
  for (const CurvePair& pair : PairCurves(context, scratch, baseline, run, Metric::kLoss)) {
    const std::string subject = SubjectOf(run, pair.migrated);
    const AlignedCurves curves = Align(pair.baseline, pair.migrated);
    if (curves.steps.size() < kFirst) continue;
    const LossComparison* whole = nullptr;
    for (const LossComparison& one : wholes) {
      if (one.migrated == &run && one.subject == subject) whole = &one;
    }
    const CurveLimits limits = whole != nullptr ? whole->limits : LimitsOf(context.profile);
    const std::vector<double> apart = Differences(curves, limits);
    const double typical = Median(apart);
    const bool paired = ArePaired(curves, limits, typical);
    std::optional<Parting> parting = paired ? FindPairedParting(apart, limits, typical) : FindUnpairedParting(curves);
    // What the check itself would call different, as it stands.
    if (!parting && whole != nullptr && !whole->too_short && whole->figures.verdict == CurveVerdict::kDiffer) {
      parting = Parting{curves.steps.size() - 1, curves.steps.size() - 1, limits.mean_relative, paired};
      const auto since = std::find(curves.steps.begin(), curves.steps.end(), whole->shown_step);
      if (since != curves.steps.end()) parting->since = static_cast<std::size_t>(since - curves.steps.begin());
    }
    if (parting) out.push_back(TellParting(context, baseline, run, subject, curves, *parting));
  }
}

// ---- overflows ----

// Steps that the search for the first scale skips.
std::int64_t SkippedAtStart(const RunSeries& run) {
  std::int64_t skipped = 0;
  std::int64_t clean_since = -1;
  if (run.logs.empty()) return 0;
  for (const v1::StepRecord& record : run.logs[0].log().records()) {
    if (record.overflow() || record.skipped() > 0) {
      skipped += std::max<std::int64_t>(1, record.skipped());
      clean_since = -1;
    } else if (clean_since < 0) {
      clean_since = record.step();
    } else if (record.step() - clean_since >= kCleanSteps) {
      return skipped;
    }
  }
  return skipped;
}

double FactOf(const v1::Finding& finding, const std::string& name) {
  const auto found = finding.facts().fields().find(name);
  return found == finding.facts().fields().end() ? 0 : found->second.number_value();
}

// Whether the rate will not come down again by itself.
bool IsSettled(const RunSeries& run, const v1::Finding& finding) {
  const double limit = FactOf(finding, "limit");
  const double steps = FactOf(finding, "steps");
  const double skipped = FactOf(finding, "skipped");
  const double later = skipped - static_cast<double>(SkippedAtStart(run));
  if (run.ending.total_steps && skipped > limit * static_cast<double>(*run.ending.total_steps)) return true;
  if (later <= limit * steps) return false;
  return later >= static_cast<double>(kSkippedSure) || (later >= 2 && limit > 0 && steps >= 1 / limit);
}

void CompareOverflows(const CheckContext& context, const RunPairs& pairs, std::vector<LiveFinding>& out) {
  v1::CheckResult result;
  EvaluateOverflowRate(context, result, Side::kMigrated);
  for (v1::Finding& finding : *result.mutable_findings()) {
    if (finding.severity() != v1::SEVERITY_ERROR || finding.kind() != "overflow_rate_exceeded") continue;
    const auto name = finding.facts().fields().find("run");
    for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
      if (name == finding.facts().fields().end() || run.name != name->second.string_value()) continue;
      if (IsSettled(run, finding)) out.push_back({"overflow_rate", run.name, run.ending.last_step, finding});
    }
  }
}

}  // namespace

std::vector<LiveFinding> CompareLive(const CheckContext& context) {
  std::vector<LiveFinding> out;
  const RunPairs pairs(context);
  v1::CheckResult scratch;
  const std::vector<LossComparison> wholes = CompareLosses(context, scratch, pairs);
  for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
    if (run.logs.empty()) continue;
    v1::CheckResult result;
    FindNonFinite(context, result, run);
    for (v1::Finding& finding : *result.mutable_findings()) {
      if (finding.severity() != v1::SEVERITY_ERROR) continue;
      out.push_back({"non_finite", run.name, static_cast<std::int64_t>(FactOf(finding, "step")), finding});
    }
    if (pairs.reference() != nullptr) CompareRun(context, pairs, run, wholes, out);
  }
  CompareOverflows(context, pairs, out);
  return out;
}

}  // namespace paritect
