#include "checks/runs/first_step.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/series/observed_logs.h"
#include "checks/settings/view.h"
#include "common/numbers.h"

namespace paritect {

double FirstValues::absolute() const {
  return std::fabs(b.value - a.value);
}

double FirstValues::relative() const {
  if (a.value == b.value) return 0;
  return a.value != 0 ? absolute() / std::fabs(a.value) : 1;
}

namespace {

// Frameworks count the first optimizer step as 0 or as 1.
constexpr std::int64_t kFirstStepMax = 1;

// Logs that all begin after a resume show no first step, whatever number they print.
bool BeginsWithResume(const RunSeries& run) {
  for (const LogSource& source : run.logs) {
    const auto& segments = source.log().segments();
    if (segments.empty() || !segments[0].has_resumed_from() || segments[0].resumed_from() <= 0) return false;
  }
  return !run.logs.empty();
}

// Whether the pair can be used; what it cannot tell stands under `missing`.
bool Judge(const CheckContext& context, v1::CheckResult& result, FirstValues& values) {
  const MessageArgs args = {{"baseline", absl::StrCat(values.a.step)}, {"migrated", absl::StrCat(values.b.step)}};
  values.of_first_step = values.a.step <= kFirstStepMax && values.b.step <= kFirstStepMax;
  // Line 1 of a log without steps, or an epoch, is no first step.
  for (const RunSeries* run : {values.baseline, values.migrated}) {
    if (StepsByOrder(*run) || StepsAreEpochs(*run)) values.of_first_step = false;
  }
  if (BeginsWithResume(*values.baseline) || BeginsWithResume(*values.migrated)) values.of_first_step = false;
  if (values.of_first_step) return true;
  // Another first step is another moment of the training: a resumed run, another log interval.
  const bool same = values.a.step == values.b.step;
  AddMissing(context, result, same ? "first_step_not_printed" : "first_steps_differ", values.subject, args);
  return same;
}

const CurvePoint* FirstPoint(const CurveSet& set, const Curve& curve) {
  for (const Curve& one : set.curves) {
    if ((one.engine == curve.engine || set.curves.size() == 1) && !one.points.empty()) return &one.points.front();
  }
  return nullptr;
}

// A first loss that is no number is none to compare: an error where the baseline's is one.
bool BeginsNotFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& migrated,
                     const CurvePair& pair, const CurveSet& raw_a, const CurveSet& raw_b) {
  const CurvePoint* a = FirstPoint(raw_a, pair.baseline);
  const CurvePoint* b = FirstPoint(raw_b, pair.migrated);
  if (a == nullptr || b == nullptr || std::isfinite(b->value) || b->step > kFirstStepMax) return false;
  const MessageArgs args = {{"run", migrated.name},
                            {"step", absl::StrCat(b->step)},
                            {"value", FormatDouble(b->value)},
                            {"baseline", FormatDouble(a->value)}};
  if (!std::isfinite(a->value)) {
    AddMissing(context, result, "first_loss_not_finite", SubjectOf(migrated, pair.migrated), args);
    return true;
  }
  v1::Finding& finding = AddError(context, result, "nan_loss/first", SubjectOf(migrated, pair.migrated), args);
  finding.set_baseline(FormatDouble(a->value));
  finding.set_migrated(FormatDouble(b->value));
  SetFact(finding, "first_step", b->step);
  SetFact(finding, "baseline", a->value);
  SetFact(finding, "migrated", b->value);
  finding.add_evidence(a->where);
  finding.add_evidence(b->where);
  return true;
}

}  // namespace

std::vector<FirstValues> FirstStepOf(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs,
                                     Metric metric) {
  std::vector<FirstValues> all;
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return all;
  for (const RunSeries& migrated : pairs.runs(Side::kMigrated)) {
    if (migrated.logs.empty()) continue;
    const bool observed = !ObservedLogs(reference->view).empty() && !ObservedLogs(migrated.view).empty();
    std::optional<RunSeries> observed_a;
    std::optional<RunSeries> observed_b;
    if (observed) observed_a.emplace(AsObserved(*reference));
    if (observed) observed_b.emplace(AsObserved(migrated));
    const RunSeries& first_a = observed ? *observed_a : *reference;
    const RunSeries& first_b = observed ? *observed_b : migrated;
    const CurveSet& raw_a = first_a.Curves(metric);
    const CurveSet& raw_b = first_b.Curves(metric);
    for (const CurvePair& pair : PairCurves(context, result, first_a, first_b, metric, CurveSpan::kFirstStep)) {
      if (metric == Metric::kLoss && BeginsNotFinite(context, result, migrated, pair, raw_a, raw_b)) continue;
      if (pair.baseline.points.empty() || pair.migrated.points.empty()) {
        const bool of_baseline = pair.baseline.points.empty();
        const std::string& run = of_baseline ? reference->name : migrated.name;
        AddMissing(context, result, "no_finite_value", SubjectOf(migrated, pair.migrated), {{"run", run}});
        continue;
      }
      FirstValues values;
      values.baseline = reference;
      values.migrated = &migrated;
      values.subject = SubjectOf(migrated, pair.migrated);
      values.a = pair.baseline.points.front();
      values.b = pair.migrated.points.front();
      values.step = values.a.step;
      if (Judge(context, result, values)) all.push_back(std::move(values));
    }
  }
  return all;
}

bool FirstLossAgrees(const Profile& profile, const FirstValues& values) {
  // Half units of the last printed digits cannot tell values apart.
  const double rounding = values.a.resolution + values.b.resolution;
  return values.absolute() < profile.threshold("first_step_absolute_error") + rounding ||
         values.relative() < profile.threshold("first_step_relative_error");
}

std::string SameSeed(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated) {
  const SettingsView& a = SettingsView::Of(context, Side::kBaseline, baseline.view);
  const SettingsView& b = SettingsView::Of(context, Side::kMigrated, migrated.view);
  const EffectiveValue* seed_a = a.FindStated("seed");
  const EffectiveValue* seed_b = b.FindStated("seed");
  const bool both = seed_a != nullptr && seed_b != nullptr;
  if (both && SameMeaning(SettingType::kNumber, seed_a->value.value, seed_b->value.value)) {
    return absl::StrCat("seed ", seed_a->value.text, " (", seed_a->value.origin, "; ", seed_b->value.origin, ")");
  }
  return "";
}

bool RepeatsStartAlike(const CheckContext& context, const RunPairs& pairs) {
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return true;
  const SettingsView& view = SettingsView::Of(context, Side::kBaseline, reference->view);
  const EffectiveValue* seed = view.FindStated("seed");
  for (const RunSeries& repeat : pairs.runs(Side::kBaseline)) {
    if (&repeat == reference || repeat.logs.empty()) continue;
    const SettingsView& other = SettingsView::Of(context, Side::kBaseline, repeat.view);
    const EffectiveValue* repeated = other.FindStated("seed");
    const bool same_seed = seed != nullptr && repeated != nullptr &&
                           SameMeaning(SettingType::kNumber, seed->value.value, repeated->value.value);
    if (!same_seed) continue;
    v1::CheckResult unused;
    for (const CurvePair& pair : PairCurves(context, unused, *reference, repeat, Metric::kLoss)) {
      if (pair.baseline.points.empty() || pair.migrated.points.empty()) continue;
      FirstValues values;
      values.a = pair.baseline.points.front();
      values.b = pair.migrated.points.front();
      if (!FirstLossAgrees(context.profile, values)) return false;
    }
  }
  return true;
}

}  // namespace paritect
