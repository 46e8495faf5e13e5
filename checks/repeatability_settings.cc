// baseline.repeatability.settings: are the baseline runs repeats of one configuration (seeds may differ)?
// Source: pre-tuning checklist, 多次训练验证精度一致.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/repeats.h"
#include "checks/settings_check.h"
#include "checks/settings_view.h"

namespace paritect {
namespace {

// Seeds are meant to differ; an address, a path or a device differs by nature and changes no number.
bool Counts(const SettingKey& key) {
  // A training that stops at its target prints how many samples it took: a result, not a setting.
  if (key.key == "train_samples") return false;
  return key.type != SettingType::kPath && key.group != "seed" && key.group != "cluster";
}

std::int64_t Compare(const CheckContext& context, v1::CheckResult& result, const SettingsView& first,
                     const SettingsView& run, std::set<std::string>& differing) {
  std::int64_t compared = 0;
  for (const std::string& name : first.StatedKeys()) {
    const SettingKey* key = context.rules.settings.FindKey(name);
    const EffectiveValue* a = first.FindStated(name);
    const EffectiveValue* b = run.FindStated(name);
    if (key == nullptr || !Counts(*key) || a == nullptr || b == nullptr) continue;
    ++compared;
    if (SameMeaning(key->type, a->value.value, b->value.value)) continue;
    differing.insert(name);
    v1::Finding& finding = AddError(context, result, "runs_not_repeats", name,
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

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries> runs = SeriesOf(context.evidence, Side::kBaseline);
  if (runs.empty()) {
    RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_SETTINGS);
    return;
  }
  if (runs.size() < 2) {
    AddMissing(context, result, "too_few_runs", SideName(Side::kBaseline), {{"needed", "2"}, {"finished", "1"}});
    return;
  }
  const SettingsView reference = SettingsView::Of(context, Side::kBaseline, runs[0].view);
  std::int64_t compared = 0;
  std::set<std::string> differing;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SettingsView settings = SettingsView::Of(context, Side::kBaseline, runs[i].view);
    if (settings.empty()) {
      AddMissing(context, result, "run_without_settings", runs[i].name, {{"run", runs[i].name}});
    } else if (i > 0) {
      compared += Compare(context, result, reference, settings, differing);
    }
  }
  if (compared == 0 || !differing.empty()) return;
  SetFact(AddNote(context, result, "measured/repeat_settings", "",
                  {{"runs", absl::StrCat(runs.size())}, {"compared", absl::StrCat(compared)}}),
          "values_compared", compared);
}

}  // namespace

extern const Check kRepeatabilitySettings;
const Check kRepeatabilitySettings = {"baseline.repeatability.settings", {}, &Evaluate};

}  // namespace paritect
