#include "checks/settings_check.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {

std::vector<SettingsView> RequireSettings(const CheckContext& context, v1::CheckResult& result, Side side) {
  std::vector<SettingsView> views;
  for (SettingsView& view : ViewsOf(context, side)) {
    if (!view.empty()) views.push_back(std::move(view));
  }
  const int missing_before = result.missing_size();
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_SETTINGS,
                           [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
                             if (evidence.outcome() != v1::OUTCOME_COLLECTED)
                               AddMissing(context, result, evidence.problem(), WhereFrom(bundle, evidence));
                           });
  if (views.empty() && result.missing_size() == missing_before) {
    RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SETTINGS);
  }
  return views;
}

void ComparePairs(const CheckContext& context, v1::CheckResult& result,
                  absl::FunctionRef<void(const SettingsView&, const SettingsView&)> compare) {
  const std::vector<SettingsView> baseline = RequireSettings(context, result, Side::kBaseline);
  const std::vector<SettingsView> migrated = RequireSettings(context, result, Side::kMigrated);
  if (baseline.empty()) return;
  for (const SettingsView& view : migrated) compare(baseline[0], view);
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
