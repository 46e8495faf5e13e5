#include "checks/settings/compare.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/series/run_series.h"
#include "common/nearest.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

struct Endings {
  std::vector<std::string> finished;
  std::set<std::string> broken_off;
};

Endings EndingsOf(const CheckContext& context, Side side) {
  Endings endings;
  const std::vector<RunSeries>& runs = SeriesOf(context, side);
  const FinishedRuns sorted = Finished(context.profile, runs);
  for (const RunSeries* run : sorted.finished) endings.finished.push_back(run->name);
  for (const FinishedRuns::Left& left : sorted.others) {
    if (!left.run->logs.empty()) endings.broken_off.insert(left.run->name);
  }
  return endings;
}

}  // namespace

std::vector<std::reference_wrapper<const SettingsView>> RequireSettings(const CheckContext& context,
                                                                        v1::CheckResult& result, Side side,
                                                                        bool of_every_run, absl::string_view suffices) {
  const int missing_before = result.missing_size();
  std::set<std::string> told;
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_SETTINGS,
                           [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
                             if (evidence.outcome() == v1::OUTCOME_COLLECTED) return;
                             AddMissing(context, result, evidence.problem(), WhereFrom(bundle, evidence));
                             told.insert(bundle.plan().run());
                           });
  std::vector<std::reference_wrapper<const SettingsView>> views;
  std::vector<std::string> without;
  for (const SettingsView& view : ViewsOf(context, side)) {
    const bool by_scripts = !suffices.empty() && view.flow().read();
    if (!view.empty() || by_scripts || (!suffices.empty() && view.FindStated(suffices) != nullptr)) {
      views.emplace_back(view);
      // What a script says in part finds faults; that it says nothing of a thing is no evidence.
      if (view.empty() && by_scripts && !view.flow().whole()) {
        ReportScriptNotWhole(context, result, view.flow(), view.run_name());
      }
    } else if (!told.contains(view.run_name())) {
      without.push_back(view.run_name());
    }
  }
  if (views.empty() && result.missing_size() == missing_before && context.evidence.Runs(side).empty() &&
      !context.evidence.Runs(side, v1::ROLE_FP32_REFERENCE).empty()) {
    AddMissing(context, result, "only_reference_runs", SideName(side), {{"side", std::string(SideName(side))}});
  } else if (views.empty() && result.missing_size() == missing_before) {
    RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SETTINGS);
  } else if (of_every_run) {
    for (const std::string& run : without) AddMissing(context, result, "no_settings_of_run", run, {{"run", run}});
  }
  return views;
}

ComparedRuns RunsToCompare(const CheckContext& context, absl::Span<const std::string> baseline_names) {
  ComparedRuns runs;
  const Endings baseline = EndingsOf(context, Side::kBaseline);
  const auto known = [&](const std::string& name) {
    return std::find(baseline_names.begin(), baseline_names.end(), name) != baseline_names.end();
  };
  const auto first = std::find_if(baseline.finished.begin(), baseline.finished.end(), known);
  if (first != baseline.finished.end()) {
    runs.reference = *first;
  } else {
    for (const std::string& name : baseline_names) {
      if (runs.reference.empty() && !baseline.broken_off.contains(name)) runs.reference = name;
    }
    if (runs.reference.empty() && !baseline_names.empty()) runs.reference = baseline_names[0];
  }
  Endings migrated = EndingsOf(context, Side::kMigrated);
  if (!migrated.finished.empty()) runs.left_out = std::move(migrated.broken_off);
  return runs;
}

void ComparePairs(const CheckContext& context, v1::CheckResult& result,
                  absl::FunctionRef<void(const SettingsView&, const SettingsView&)> compare,
                  absl::string_view suffices) {
  const auto baseline = RequireSettings(context, result, Side::kBaseline, false, suffices);
  const auto migrated = RequireSettings(context, result, Side::kMigrated, true, suffices);
  if (baseline.empty()) return;
  std::vector<std::string> names;
  for (const SettingsView& view : baseline) names.push_back(view.run_name());
  const ComparedRuns runs = RunsToCompare(context, names);
  const auto reference = std::find_if(baseline.begin(), baseline.end(),
                                      [&](const SettingsView& v) { return v.run_name() == runs.reference; });
  for (const SettingsView& view : migrated) {
    if (!runs.left_out.contains(view.run_name())) compare(*reference, view);
  }
}

void AddOneSided(const CheckContext& context, v1::CheckResult& result, const SettingsView& without,
                 const std::string& keys) {
  AddMissing(context, result,
             without.HasFormatThat(&SettingsFormatFacts::states_all) ? "only_on_one_side/whole" : "only_on_one_side",
             without.run_name(), {{"keys", keys}});
}

void AddConflicts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view, absl::string_view key,
                  const SourcedValue& value, absl::Span<const SourcedValue> disagreeing) {
  for (const SourcedValue& other : disagreeing) {
    const std::string values = absl::StrCat(ShowValue(value), "; ", ShowValue(other));
    const std::string subject = absl::StrCat(SideName(view.side()), ": ", key);
    if (HasFinding(result, "conflict_within_side", subject, "", "")) continue;
    v1::Finding& finding =
        AddError(context, result, "conflict_within_side", subject, {{"key", std::string(key)}, {"values", values}});
    SetValueFact(finding, "value", value.value);
    SetValueFact(finding, "other_value", other.value);
    finding.add_evidence(value.origin);
    finding.add_evidence(other.origin);
  }
}

void AddOverridden(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                   absl::string_view key, const SourcedValue& value, absl::Span<const SourcedValue> overridden) {
  for (const SourcedValue& other : overridden) {
    const bool not_reached = value.source == SettingSource::kLog && other.source == overridden[0].source;
    const std::string subject = absl::StrCat(SideName(view.side()), ": ", key);
    if (HasFinding(result, "overridden", subject, "", "")) continue;
    v1::Finding& finding =
        AddFinding(context, result, not_reached ? v1::SEVERITY_WARNING : v1::SEVERITY_NOTE,
                   !not_reached                      ? "overridden"
                   : value.format == kObservedFormat ? "overridden/observed"
                                                     : "overridden/not_reached",
                   subject, {{"key", std::string(key)}, {"value", ShowValue(value)}, {"other", ShowValue(other)}});
    SetValueFact(finding, "value", value.value);
    SetValueFact(finding, "other_value", other.value);
    finding.add_evidence(value.origin);
    finding.add_evidence(other.origin);
  }
}

void ReportSources(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                   absl::string_view key, const EffectiveValue& effective) {
  AddConflicts(context, result, view, key, effective.value, effective.disagreeing);
  AddOverridden(context, result, view, key, effective.value, effective.overridden);
}

void AddPartConflicts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                      absl::Span<const PartConflict> conflicts) {
  for (const PartConflict& one : conflicts) AddConflicts(context, result, view, one.key, one.value, {&one.other, 1});
}

void ReportNoNumbers(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                     std::initializer_list<absl::string_view> groups, bool compared_only) {
  for (const auto& [name, values] : view.unreadable()) {
    const SettingKey* key = context.rules.settings.FindKey(name);
    if (key == nullptr || (compared_only && !key->compared)) continue;
    if (std::find(groups.begin(), groups.end(), key->group) == groups.end()) continue;
    for (const SourcedValue& value : values) {
      AddMissing(context, result, "setting_is_no_number", view.run_name(),
                 {{"key", name}, {"value", ShowValue(value)}, {"run", view.run_name()}});
    }
  }
}

bool ReportUnreadScripts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                         absl::string_view what) {
  for (const std::string& script : view.unread_scripts()) {
    AddMissing(context, result, "script_not_read", view.run_name(),
               {{"script", script}, {"what", std::string(what)}, {"run", view.run_name()}});
  }
  return !view.unread_scripts().empty();
}

bool ReportUntold(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                  absl::string_view key) {
  const SourcedValue* untold = view.Untold(key);
  if (untold == nullptr) return false;
  AddMissing(context, result, "value_not_told", view.run_name(),
             {{"key", std::string(key)}, {"value", untold->text}, {"origin", untold->origin}});
  return true;
}

void WarnOfUnknownFacts(const CheckContext& context, v1::CheckResult& result) {
  // Facts that checks read by name, without a setting behind them.
  static constexpr absl::string_view kOwn[] = {"reference_accuracy"};
  std::vector<std::string> known(std::begin(kOwn), std::end(kOwn));
  for (const auto& [name, key] : context.rules.settings.keys()) known.push_back(name);
  for (Side side : kBothSides) {
    for (const v1::Bundle& bundle : context.evidence.bundles(side)) {
      for (const auto& [name, value] : std::map(bundle.plan().facts().begin(), bundle.plan().facts().end())) {
        v1::Setting setting;
        setting.set_raw_key(name);
        *setting.mutable_value() = value;
        if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) continue;
        if (!context.rules.settings.Canonicalise("fact", setting).empty()) continue;
        if (HasFinding(result, "unknown_fact", name, "", "")) continue;
        const std::string nearest = NearestWord(name, known);
        auto origin = bundle.plan().fact_origins().find(name);
        AddWarning(
            context, result, nearest.empty() ? "unknown_fact" : "unknown_fact/nearest", name,
            {{"name", name},
             {"origin", origin == bundle.plan().fact_origins().end() ? bundle.plan().plan_file() : origin->second},
             {"nearest", nearest}});
      }
    }
  }
}

void SetValueFact(v1::Finding& finding, absl::string_view name, const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger: SetFact(finding, name, static_cast<std::int64_t>(value.integer())); break;
    case v1::Value::kNumber: SetFact(finding, name, value.number()); break;
    case v1::Value::kBoolean: SetFact(finding, name, value.boolean()); break;
    default: SetFact(finding, name, absl::string_view(ValueToText(value))); break;
  }
}

bool HasFinding(const v1::CheckResult& result, absl::string_view kind, absl::string_view subject,
                absl::string_view baseline, absl::string_view migrated) {
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != kind || finding.subject() != subject) continue;
    if (baseline.empty() && migrated.empty()) return true;
    if (finding.baseline() == baseline && finding.migrated() == migrated) return true;
  }
  return false;
}

}  // namespace paritect
