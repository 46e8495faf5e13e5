// What a run really used: effective settings of one run from its settings files, from what its logs print
// of settings, and from the facts of its plans, by canonical name (rules/data/settings.yaml).
//
// What a log prints with every step (Megatron: the global batch size, the number of iterations) counts as a source too,
// though it makes no settings of a run that has none (`empty`).
//
// Each value carries where it was read. Several sources may state one key: the effective value is that of the highest
// in the order of SettingSource. One that says otherwise is kept beside it, never dropped: `disagreeing` where nothing
// tells which counts (one rank, a stated fact, a trainer's file against its engine's), else `overridden`. Where no
// source states a key, the default of product x framework x version counts (rules/data/defaults.yaml), marked kDefault,
// if evidence or the plan shows that the run used that framework or library (settings.yaml, `libraries`) and no key
// that is not understood may be the same thing; else the key has no value, and a check says so instead of guessing. A
// key that a source sets to what it does not tell (args.mode, $MODE) has no value either, and the default does not
// count. Source: pre-tuning checklist, 模型超参 ("需要检查实际执行超参与参考基准的一致性").
#ifndef PARITECT_CHECKS_SETTINGS_VIEW_H_
#define PARITECT_CHECKS_SETTINGS_VIEW_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"
#include "checks/evidence_set.h"
#include "checks/scripts/flow.h"
#include "checks/settings/sourced_value.h"
#include "paritect/v1/settings.pb.h"
#include "rules/settings_formats.h"
#include "rules/settings_rules.h"

namespace paritect {

// In the order in which they count: written default, what scripts say, what a person states, configuration file,
// command line and variables, what the run printed or wrote out itself. kDerived: a figure made of several.
struct EffectiveValue {
  SourcedValue value;
  std::vector<SourcedValue> disagreeing;  // of the same scope, other meaning
  std::vector<SourcedValue> overridden;   // the same of sources that do not count, the highest first
};

// One environment variable as one node has it.
struct VariableOnNode {
  std::string node;
  std::string origin;
  bool withheld = false;  // outside the allow-list: only whether it is set is known
  std::string text;
  std::string keyed_hash;
  bool untold = false;  // set to what its source does not tell ($MODE); `text` is the expression
};

class SettingsView {
 public:
  // The view of one run, made once an audit. `run` points into context.evidence.
  static const SettingsView& Of(const CheckContext& context, Side side, const RunView& run);

  // The effective value, defaults included; nullptr where neither a source nor a default is known.
  const EffectiveValue* Find(absl::string_view key) const;
  // The same without defaults.
  const EffectiveValue* FindStated(absl::string_view key) const;
  // The effective value as a number, bool or text; nullopt where there is none or of another type.
  std::optional<double> Number(absl::string_view key) const;
  std::optional<bool> Boolean(absl::string_view key) const;
  std::optional<std::string> Text(absl::string_view key) const;
  // Where a source states that the key has no value (None) and none gives one; else nullptr.
  const SourcedValue* FindNone(absl::string_view key) const;
  // Every stated value of a key, all scopes and sources, in order of origin.
  std::vector<const SourcedValue*> All(absl::string_view key) const;
  // Every key that a source states, in byte order.
  std::vector<std::string> StatedKeys() const;
  // Arguments that no canonical key claims, by normalised raw name: of several sources the one nearest to the run. Not
  // of environments, packages, devices and printed models, and nothing that was withheld.
  const std::map<std::string, SourcedValue>& unknown() const { return unknown_; }
  // Values of numeric keys that are no numbers ("lr: abc"), by canonical key; they count for nothing.
  const std::map<std::string, std::vector<SourcedValue>>& unreadable() const { return unreadable_; }

  // Scripts that the plans name and that were not read, as the plans name them: what they set is not known, so that a
  // default or "not set" proves nothing.
  const std::vector<std::string>& unread_scripts() const { return unread_scripts_; }

  // Keys that sources set to what they do not tell (an expression, a variable from outside, a line under a condition)
  // and that no other source states: they have no value, and no default counts for them.
  const std::map<std::string, SourcedValue>& untold() const { return untold_; }
  const SourcedValue* Untold(absl::string_view key) const;

  // Keys without a value whose default does not count, because a key that is not understood may be the same thing.
  const std::map<std::string, SourcedValue>& doubted() const { return doubted_; }

  // Environment variables by name, one entry a node that has it.
  const std::map<std::string, std::vector<VariableOnNode>>& variables() const { return variables_; }
  // The value of a variable where all nodes that set it agree.
  std::optional<std::string> Variable(absl::string_view name) const;

  // Whether something shows that the run used the library (a name of settings.yaml, `libraries`).
  bool Uses(absl::string_view library) const { return libraries_.contains(std::string(library)); }

  // pytorch | tensorflow | mindspore; "" where neither plan nor evidence says.
  const std::string& framework() const { return framework_; }
  // Version of the framework package, "" where not known.
  const std::string& framework_version() const { return framework_version_; }
  // Product family (checks/settings/platform.h); "" where not known.
  const std::string& product() const { return product_; }
  // Formats of the documents that were read ("megatron-args", "deepspeed-json", ...).
  bool HasFormat(absl::string_view format) const;
  // Whether a document was read of whose format this is known.
  bool HasFormatThat(bool SettingsFormatFacts::*fact) const;
  // Whether any settings were found at all, in files, logs or facts.
  bool empty() const { return !has_facts_ && variables_.empty() && formats_.empty(); }

  // What the run's scripts say; where none were named or read, a flow that says so.
  const ScriptFlow& flow() const { return *flow_; }

  Side side() const { return side_; }
  const std::string& run_name() const { return run_name_; }

 private:
  static SettingsView Make(const CheckContext& context, Side side, const RunView& run);
  void AddBundle(const CheckContext& context, const v1::Bundle& bundle);
  void AddScripts(const CheckContext& context, const RunView& run);
  void AddDocument(const Rules& rules, const v1::Bundle& bundle, const v1::SettingsDocument& document, bool from_log);
  void NoteUse(const v1::SettingsDocument& document, const v1::Setting& setting);
  void Establish(const Rules& rules);
  bool Doubtful(const Rules& rules, const SettingKey& key);
  void AddUnknown(const v1::Bundle& bundle, const v1::SettingsDocument& document, const v1::Setting& setting,
                  bool from_log);
  void AddUntold(const Rules& rules, const v1::Bundle& bundle, const v1::SettingsDocument& document,
                 const v1::Setting& setting, bool from_log);
  void AddFacts(const Rules& rules, const v1::Bundle& bundle);
  void AddStepLines(const v1::Bundle& bundle, const v1::Evidence& evidence);
  void Add(const std::string& key, SourcedValue value);
  void Settle(const Rules& rules);
  void AddDefaults(const Rules& rules);
  void ApplySwitches(const Rules& rules);

  Side side_ = Side::kBaseline;
  std::string run_name_;
  std::map<std::string, std::vector<SourcedValue>> values_;  // as read
  std::map<std::string, std::vector<SourcedValue>> unreadable_;
  std::map<std::string, SourcedValue> untold_;
  std::map<std::string, EffectiveValue> effective_;
  std::map<std::string, SourcedValue> unknown_;
  std::map<std::string, std::vector<VariableOnNode>> variables_;
  std::vector<std::string> formats_;
  std::vector<std::string> unread_scripts_;
  std::map<std::string, SourcedValue> doubted_;
  // What shows which libraries the run used.
  std::set<std::string> written_;  // formats of what the run itself wrote or printed
  std::set<std::string> packages_;
  std::set<std::string> commands_;
  std::set<std::string> arguments_;
  std::set<std::string> libraries_;
  std::set<std::string> library_formats_;  // whose defaults count
  std::string framework_;
  std::string framework_version_;
  std::string product_;
  bool has_facts_ = false;
  const ScriptFlow* flow_ = nullptr;
};

// Views of all runs of a side, in the order given.
std::vector<std::reference_wrapper<const SettingsView>> ViewsOf(const CheckContext& context, Side side,
                                                                v1::Role role = v1::ROLE_RUN);

// Whether a key without canonical name says where something lies, what carries it or how it is shown (paths, devices,
// backends, ports, names): two clusters differ in these by nature. `a` and `b`: its values as written.
bool NamesAPlace(absl::string_view name, absl::string_view a, absl::string_view b);

// "value (origin)" for the baseline/migrated columns of a finding.
std::string ShowValue(const SourcedValue& value);

// Arguments without a canonical name that two sources of one run state differently, by
// normalised name: the values of lower sources (a file under a log) that differ from the one in view.unknown().
std::map<std::string, std::vector<SourcedValue>> DisagreeingUnknown(const CheckContext& context,
                                                                    const SettingsView& view);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_VIEW_H_
