// What the checks over settings share: which runs are compared, what is missing, how a difference is told.
#ifndef PARITECT_CHECKS_SETTINGS_COMPARE_H_
#define PARITECT_CHECKS_SETTINGS_COMPARE_H_

#include <set>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"

namespace paritect {

// For `suffices` below: scripts that were read tell what is asked for.
inline constexpr absl::string_view kReadScripts = "scripts that were read";

// Reports settings evidence of a side that is absent or failed, and, where the side has no settings in files,
// logs or facts, that there are none; with `of_every_run` also each single run that has none. Returns the views of
// the side's runs that have any.
// A run counts with `suffices` alone: a key that logs print with their steps, or kReadScripts ("": nothing does).
// Scripts that were read suffice for either.
std::vector<std::reference_wrapper<const SettingsView>> RequireSettings(const CheckContext& context,
                                                                        v1::CheckResult& result, Side side,
                                                                        bool of_every_run = true,
                                                                        absl::string_view suffices = "");

// Which runs count where two sides are compared: the first finished run of the baseline against every finished
// migrated run (design: several runs on a side). Only logs tell how a run ended: a run without one counts, and where
// no run of a side is known to be finished, all do.
struct ComparedRuns {
  std::string reference;           // name of the baseline's run; "" where it has none
  std::set<std::string> left_out;  // migrated runs that broke off beside finished ones
};
ComparedRuns RunsToCompare(const CheckContext& context, absl::Span<const std::string> baseline_names);

// The reference run against every migrated run that counts (RunsToCompare); calls `compare` for each pair. What is
// missing is reported.
void ComparePairs(const CheckContext& context, v1::CheckResult& result,
                  absl::FunctionRef<void(const SettingsView& baseline, const SettingsView& migrated)> compare,
                  absl::string_view suffices = "");

// An error conflict_within_side for each value that disagrees with the effective one.
void AddConflicts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view, absl::string_view key,
                  const SourcedValue& value, absl::Span<const SourcedValue> disagreeing);

// Missing: what the other side states ("KEY=VALUE (PLACE)", several joined) and this one does not. Where all of its
// configuration was read, more of it would tell nothing: the remedy does not ask for it.
void AddOneSided(const CheckContext& context, v1::CheckResult& result, const SettingsView& without,
                 const std::string& keys);

// A note overridden for each source below the one that counts that says otherwise; a warning where the run printed
// another value than it was last asked for.
void AddOverridden(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                   absl::string_view key, const SourcedValue& value, absl::Span<const SourcedValue> overridden);

// Both of the above for a value that is there.
void ReportSources(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                   absl::string_view key, const EffectiveValue& effective);

// The same for parts of a derived quantity, each under its own key.
void AddPartConflicts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                      absl::Span<const PartConflict> conflicts);

// Reports each value of a key of these groups (`compared` keys only where `compared_only`) that should be a number and
// is none: what needs it is not performed.
void ReportNoNumbers(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                     std::initializer_list<absl::string_view> groups, bool compared_only = false);

// Scripts of the run that were not read, where the check would else trust a default or that nothing is set (`what`: the
// option that they may set). Reports each; true where there is one.
bool ReportUnreadScripts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                         absl::string_view what);

// Reports, where a source sets the key to what it does not tell, that its value is not known. True where it does.
bool ReportUntold(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                  absl::string_view key);

// Warns of facts of the plans that no check knows, with the nearest name that one knows: most likely a slip of the pen.
void WarnOfUnknownFacts(const CheckContext& context, v1::CheckResult& result);

// Sets a number fact where the value is a number, else a text fact.
void SetValueFact(v1::Finding& finding, absl::string_view name, const v1::Value& value);

// True where a finding of that kind and subject with the same sides stands already (several runs, one cause).
bool HasFinding(const v1::CheckResult& result, absl::string_view kind, absl::string_view subject,
                absl::string_view baseline, absl::string_view migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_COMPARE_H_
