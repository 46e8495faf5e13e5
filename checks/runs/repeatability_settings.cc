// baseline.repeatability.settings: are the baseline runs repeats of one configuration (seeds may differ)?
// Source: pre-tuning checklist, 多次训练验证精度一致.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/step_axis.h"
#include "checks/series/curves.h"
#include "checks/series/repeats.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

// Seeds are meant to differ; an address, a path or a device differs by nature and changes no number.
bool Counts(const SettingKey& key) {
  // A training that stops at its target prints how many samples it took: a result, not a setting.
  if (key.key == "train_samples") return false;
  return key.type != SettingType::kPath && key.group != "seed" && key.group != "cluster";
}

std::int64_t Compare(const CheckContext& context, v1::CheckResult& result, absl::string_view id,
                     const SettingsView& first, const SettingsView& run, std::set<std::string>& differing) {
  std::int64_t compared = 0;
  for (const std::string& name : first.StatedKeys()) {
    const SettingKey* key = context.rules.settings.FindKey(name);
    const EffectiveValue* a = first.FindStated(name);
    const EffectiveValue* b = run.FindStated(name);
    if (key == nullptr || !Counts(*key) || a == nullptr || b == nullptr) continue;
    ++compared;
    if (SameMeaning(key->type, a->value.value, b->value.value)) continue;
    differing.insert(name);
    v1::Finding& finding = AddError(context, result, id, name,
                                    {{"key", name},
                                     {"first", first.run_name()},
                                     {"a", ValueToText(a->value.value)},
                                     {"run", run.run_name()},
                                     {"b", ValueToText(b->value.value)}});
    finding.set_baseline(
        absl::StrCat(ShowValue(a->value), " in ", first.run_name(), ", ", ShowValue(b->value), " in ", run.run_name()));
    finding.add_evidence(a->value.origin);
    finding.add_evidence(b->value.origin);
    SetValueFact(finding, "first", a->value.value);
    SetValueFact(finding, "other", b->value.value);
  }
  return compared;
}

void ReportPrinted(const CheckContext& context, v1::CheckResult& result, const RunSeries& first, const RunSeries& run,
                   const std::string& key, double a, double b, const std::string& where) {
  v1::Finding& finding =
      AddError(context, result, "runs_not_repeats", key,
               {{"key", key}, {"first", first.name}, {"a", Short(a)}, {"run", run.name}, {"b", Short(b)}});
  finding.set_baseline(absl::StrCat(Short(a), " in ", first.name, ", ", Short(b), " in ", run.name));
  SetFact(finding, "first", a);
  SetFact(finding, "other", b);
  if (!where.empty()) finding.add_evidence(where);
}

// What the logs print at every step of the settings: the global batch and the learning rate.
std::int64_t ComparePrinted(const CheckContext& context, v1::CheckResult& result, const RunSeries& first,
                            const RunSeries& run, std::set<std::string>& differing) {
  const double same = context.profile.threshold("printed_setting_difference");
  std::int64_t compared = 0;
  const std::optional<double> batch_a = PrintedBatch(first);
  const std::optional<double> batch_b = PrintedBatch(run);
  if (batch_a.has_value() && batch_b.has_value()) {
    ++compared;
    if (*batch_a != *batch_b) {
      if (differing.insert("global_batch_size").second) {
        ReportPrinted(context, result, first, run, "global_batch_size", *batch_a, *batch_b, "");
      }
    }
  }
  const CurveSet& rate_a = first.Curves(Metric::kLearningRate);
  const CurveSet& rate_b = run.Curves(Metric::kLearningRate);
  if (rate_a.curves.size() != 1 || rate_b.curves.size() != 1) return compared;
  const Curve a = FiniteOnly(rate_a.curves[0]);
  const Curve b = FiniteOnly(rate_b.curves[0]);
  const AlignedCurves rates = Align(a, b);
  if (rates.steps.empty()) return compared;
  ++compared;
  const double smallest = same * *std::max_element(rates.a.begin(), rates.a.end());
  std::vector<std::size_t> apart;
  for (std::size_t i = 0; i < rates.steps.size(); ++i) {
    if (std::fabs(rates.b[i] - rates.a[i]) > same * std::fabs(rates.a[i]) + smallest) apart.push_back(i);
  }
  if (apart.size() <= std::max<std::size_t>(1, rates.steps.size() / 100)) return compared;
  if (!differing.insert("learning_rate").second) return compared;
  ReportPrinted(context, result, first, run, "learning_rate", rates.a[apart[0]], rates.b[apart[0]],
                rates.at_b[apart[0]]->where);
  return compared;
}

// The batch by its quantity, however its parts are stated.
std::int64_t CompareBatch(const CheckContext& context, v1::CheckResult& result, const SettingsView& published,
                          const SettingsView& run, std::set<std::string>& differing) {
  const Derived a = GlobalBatch(published);
  const Derived b = GlobalBatch(run);
  if (!a.value || !b.value || differing.contains("global_batch_size")) return 0;
  if (*a.value == *b.value) return 1;
  differing.insert("global_batch_size");
  v1::Finding& finding = AddError(context, result, "runs_not_repeats/published", "global_batch_size",
                                  {{"key", "global_batch_size"},
                                   {"first", published.run_name()},
                                   {"a", a.text},
                                   {"run", run.run_name()},
                                   {"b", b.text}});
  finding.set_baseline(absl::StrCat(a.text, " in ", published.run_name(), ", ", b.text, " in ", run.run_name()));
  for (const std::string& origin : a.evidence) finding.add_evidence(origin);
  for (const std::string& origin : b.evidence) finding.add_evidence(origin);
  return 1;
}

// Hyperparameters borrowed from a published benchmark: the baseline is held against what was published. Every run is a
// repeat of the first, which is the one compared. Source: pre-tuning checklist, 参考基准, steps 1 to 6.
void ComparePublished(const CheckContext& context, v1::CheckResult& result, const SettingsView& run) {
  for (const SettingsView& published : ViewsOf(context, Side::kBaseline, v1::ROLE_PUBLISHED)) {
    std::set<std::string> differing;
    std::int64_t compared = Compare(context, result, "runs_not_repeats/published", published, run, differing);
    compared += CompareBatch(context, result, published, run, differing);
    const MessageArgs args = {
        {"first", published.run_name()}, {"run", run.run_name()}, {"compared", absl::StrCat(compared)}};
    if (compared == 0) {
      AddMissing(context, result, "no_published_settings_in_common", published.run_name(), args);
    } else if (differing.empty()) {
      SetFact(AddNote(context, result, "measured/published_settings", "", args), "values_compared", compared);
    }
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
  if (runs.empty()) {
    RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_SETTINGS);
    return;
  }
  ComparePublished(context, result, SettingsView::Of(context, Side::kBaseline, runs[0].view));
  if (runs.size() < 2) {
    AddMissing(context, result, "too_few_runs", SideName(Side::kBaseline), {{"needed", "2"}, {"finished", "1"}});
    return;
  }
  const SettingsView& reference = SettingsView::Of(context, Side::kBaseline, runs[0].view);
  std::int64_t compared = 0;
  std::set<std::string> differing;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SettingsView& settings = SettingsView::Of(context, Side::kBaseline, runs[i].view);
    if (i > 0) compared += ComparePrinted(context, result, runs[0], runs[i], differing);
    if (settings.empty()) {
      AddMissing(context, result, "run_without_settings", runs[i].name, {{"run", runs[i].name}});
    } else if (i > 0) {
      compared += Compare(context, result, "runs_not_repeats", reference, settings, differing);
    }
  }
  if (!differing.empty()) return;
  if (compared == 0) {
    // Runs that are known to be alike in nothing are not known to be repeats.
    if (result.missing().empty()) AddMissing(context, result, "no_settings_in_common", SideName(Side::kBaseline));
    return;
  }
  SetFact(AddNote(context, result, "measured/repeat_settings", "",
                  {{"runs", absl::StrCat(runs.size())}, {"compared", absl::StrCat(compared)}}),
          "values_compared", compared);
}

}  // namespace

extern const Check kRepeatabilitySettings;
const Check kRepeatabilitySettings = {"baseline.repeatability.settings", {}, &Evaluate};

}  // namespace paritect
