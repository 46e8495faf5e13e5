// baseline.repeatability.settings: are the baseline runs repeats of one configuration (seeds may differ)?
// Source: pre-tuning checklist, 多次训练验证精度一致.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/repeats.h"
#include "checks/run_settings.h"

namespace paritect {
namespace {

// Seeds are meant to differ; an address, a path or a device differs by nature and changes no number.
bool Counts(const SettingKey& key) {
  // A training that stops at its target prints how many samples it took: a result, not a setting.
  if (key.key == "train_samples") return false;
  return key.type != SettingType::kPath && key.group != "seed" && key.group != "cluster";
}

std::int64_t Compare(const CheckContext& context, v1::CheckResult& result, const RunSeries& first,
                     const RunSettings& reference, const RunSeries& run, const RunSettings& settings,
                     std::set<std::string>& differing) {
  std::int64_t compared = 0;
  for (const std::string& name : reference.Keys()) {
    const SettingKey* key = context.rules.settings.FindKey(name);
    if (key == nullptr || !Counts(*key) || settings.Find(name) == nullptr) continue;
    ++compared;
    const RunSettings::Entry& a = *reference.Find(name);
    const RunSettings::Entry& b = *settings.Find(name);
    if (SameValue(a.value, b.value)) continue;
    differing.insert(name);
    v1::Finding& finding = AddError(context, result, "runs_not_repeats", name,
                                    {{"key", name},
                                     {"first", first.name},
                                     {"a", ShowValue(a.value)},
                                     {"run", run.name},
                                     {"b", ShowValue(b.value)}});
    finding.set_baseline(
        absl::StrCat(ShowValue(a.value), " (", first.name, "), ", ShowValue(b.value), " (", run.name, ")"));
    finding.add_evidence(a.origin);
    finding.add_evidence(b.origin);
    if (a.value.kind_case() == v1::Value::kNumber) SetFact(finding, "first", a.value.number());
    if (b.value.kind_case() == v1::Value::kNumber) SetFact(finding, "other", b.value.number());
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
  const RunSettings reference(context, runs[0]);
  std::int64_t compared = 0;
  std::set<std::string> differing;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunSettings settings(context, runs[i]);
    if (settings.empty()) {
      AddMissing(context, result, "run_without_settings", runs[i].name, {{"run", runs[i].name}});
    } else if (i > 0) {
      compared += Compare(context, result, runs[0], reference, runs[i], settings, differing);
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
