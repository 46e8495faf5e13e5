// model.hyperparameters.per-group: how many parameters have which weight decay and learning rate. Groups with the same
// two values are one: frameworks divide them differently. The rate that a group was built with counts (initial_lr), for
// the printed one moves. Source: pre-tuning checklist, 模型超参 (norms and biases without decay).
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/flow.h"
#include "checks/settings/compare.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Groups {
  bool any = false;
  bool counted = true;                        // every group says how many parameters it has
  std::map<std::string, double> by_law;       // "weight_decay 0.1, lr 0.0001" -> parameters
  std::map<std::string, std::string> law_of;  // parameter, by its common name -> law; where the names are recorded
  std::string origin;
  bool everything = false;  // there is one group, with all parameters
};

using Fields = std::map<std::string, v1::Value>;

std::optional<double> NumberIn(const Fields& fields, const char* name) {
  auto it = fields.find(name);
  if (it == fields.end()) return std::nullopt;
  const v1::Value typed = TypedValue(SettingType::kNumber, it->second);
  if (typed.kind_case() == v1::Value::kInteger) return static_cast<double>(typed.integer());
  if (typed.kind_case() == v1::Value::kNumber) return typed.number();
  return std::nullopt;
}

void AddNames(const Rules& rules, const Fields& fields, const std::string& law, Groups& groups) {
  auto names = fields.find("names");
  if (names == fields.end()) return;
  for (absl::string_view name : absl::StrSplit(names->second.text(), ' ', absl::SkipEmpty())) {
    groups.law_of[rules.tensor_names.Canonical(std::string(name))] = law;
  }
}

void AddGroup(const Rules& rules, const Fields& fields, Groups& groups) {
  std::vector<std::string> law;
  for (const char* name : {"weight_decay", "wd_mult", "lr_mult"}) {
    if (auto number = NumberIn(fields, name)) law.push_back(StrCat(name, " ", FormatDouble(*number)));
  }
  for (const char* name : {"initial_lr", "max_lr", "lr"}) {
    if (auto number = NumberIn(fields, name)) {
      law.push_back(StrCat("lr ", FormatDouble(*number)));
      break;
    }
  }
  const std::optional<double> parameters = NumberIn(fields, "params");
  if (law.empty() || parameters == 0) return;
  groups.counted = groups.counted && parameters.has_value();
  groups.by_law[absl::StrJoin(law, ", ")] += parameters.value_or(0);
  AddNames(rules, fields, absl::StrJoin(law, ", "), groups);
}

// The groups of the run's first document of them: every node has the same ones.
Groups PrintedGroups(const Rules& rules, const RunView& run) {
  Groups groups;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (groups.any || !evidence.has_settings() || evidence.settings().format() != "parameter-groups") continue;
      std::map<std::string, Fields> scopes;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        absl::string_view name = setting.raw_key();
        if (absl::ConsumePrefix(&name, "group.")) scopes[setting.scope()][std::string(name)] = setting.value();
      }
      for (const auto& [scope, fields] : scopes) AddGroup(rules, fields, groups);
      groups.any = !groups.by_law.empty();
      groups.origin = evidence.source();
    }
  }
  return groups;
}

// One optimizer that is given what `model.parameters()` gives: all parameters are in its one group.
bool TakesAllParameters(const ScriptFlow& flow) {
  const std::vector<const v1::ScriptFact*> optimizers = flow.OfKind("optimizer");
  if (!flow.whole() || optimizers.size() != 1 || optimizers[0]->conditional()) return false;
  const v1::ScriptArgument* params = FindScriptArgument(*optimizers[0], "params");
  return params != nullptr && absl::EndsWith(params->text(), ".parameters()") &&
         !absl::StrContains(params->text(), "[");
}

// The laws that a group states: its own values, else its optimizer's. nullopt: one is not known to the last number.
std::optional<Fields> FieldsOf(const ScriptFlow& flow, absl::Span<const char* const> names, const v1::ScriptFact* group,
                               const v1::ScriptFact& optimizer) {
  Fields fields;
  for (const char* name : names) {
    const v1::ScriptArgument* argument = group == nullptr ? nullptr : FindScriptArgument(*group, name);
    if (argument == nullptr) argument = FindScriptArgument(optimizer, name);
    if (argument == nullptr) continue;
    if (!flow.Knows(*argument)) return std::nullopt;
    fields[name] = argument->value();
  }
  return fields;
}

// Whether the script sets a law of its groups when the optimizer is made already. A rate that moves round by round is a
// schedule: the rate that a group was built with counts.
bool SetsLater(const ScriptFlow& flow, absl::Span<const char* const> names) {
  const std::vector<const v1::ScriptFact*> set = flow.OfKind("group_set");
  return std::any_of(set.begin(), set.end(), [&](const v1::ScriptFact* one) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) {
      const bool rate = absl::string_view(name) == "lr";
      return FindScriptArgument(*one, name) != nullptr && (!rate || one->loops().empty());
    });
  });
}

// As the scripts divide the parameters. What is not known to the last number is no evidence. How many parameters a
// group has, code does not tell. The rate of a single group is the run's, which model.hyperparameters.learning-rate
// compares.
Groups GroupsOfScripts(const Rules& rules, const ScriptFlow& flow) {
  Groups groups;
  if (!flow.read()) return groups;
  const auto add = [&](absl::Span<const char* const> names, const v1::ScriptFact* group,
                       const v1::ScriptFact& optimizer) {
    if (SetsLater(flow, names)) return false;
    const std::optional<Fields> fields = FieldsOf(flow, names, group, optimizer);
    if (!fields) return false;
    AddGroup(rules, *fields, groups);
    if (groups.origin.empty()) groups.origin = StrCat(ScriptPlace(optimizer), ": ", ScriptDetail(optimizer));
    return true;
  };
  if (TakesAllParameters(flow)) {
    groups.everything = true;
    if (!add({"weight_decay"}, nullptr, *flow.OfKind("optimizer")[0])) return {};
  } else {
    for (const v1::ScriptFact* fact : flow.OfKind("parameter_group")) {
      const v1::ScriptFact* optimizer = flow.FactAt(fact->object() - 1);
      if (!fact->called() || fact->conditional() || optimizer == nullptr) return {};
      if (!add({"weight_decay", "lr"}, fact, *optimizer)) return {};
    }
  }
  groups.any = !groups.by_law.empty();
  return groups;
}

std::string Show(const Groups& groups, bool counted) {
  std::vector<std::string> parts;
  for (const auto& [law, parameters] : groups.by_law) {
    parts.push_back(counted ? StrCat(law, ": ", FormatDouble(parameters)) : law);
  }
  return absl::StrJoin(parts, "; ");
}

// Parameters of one name under another law. True: there are some. As many under each law is no proof that they are the
// same ones.
bool CompareByName(const CheckContext& context, v1::CheckResult& result, const Groups& a, const Groups& b) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  std::size_t count = 0;
  std::pair<std::string, std::string> laws;
  for (const auto& [name, law] : a.law_of) {
    const auto other = b.law_of.find(name);
    if (other == b.law_of.end() || other->second == law) continue;
    if (count++ == 0) laws = {law, other->second};
    if (names.size() < kShown) names.push_back(name);
  }
  if (count == 0) return false;
  const std::string shown = StrCat(absl::StrJoin(names, ", "), count > kShown ? ", ..." : "");
  if (HasFinding(result, "groups_differ", shown, laws.first, laws.second)) return true;
  v1::Finding& finding =
      AddError(context, result, "groups_differ/names", shown,
               {{"names", shown}, {"count", StrCat(count)}, {"baseline", laws.first}, {"migrated", laws.second}});
  finding.set_baseline(laws.first);
  finding.set_migrated(laws.second);
  SetFact(finding, "parameters", static_cast<std::uint64_t>(count));
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
  return true;
}

void Compare(const CheckContext& context, v1::CheckResult& result, const std::string& run, const Groups& a,
             const Groups& b) {
  if (CompareByName(context, result, a, b)) return;
  const bool counted = a.counted && b.counted;
  const std::string x = Show(a, counted);
  const std::string y = Show(b, counted);
  if (x == y) {
    AddNote(context, result, "measured/groups", run, {{"groups", y}});
    const bool all = a.everything && b.everything;
    if (!counted && !all) AddMissing(context, result, "group_sizes_unknown", run, {{"run", run}});
    return;
  }
  if (HasFinding(result, "groups_differ", "parameter groups", x, y)) return;
  v1::Finding& finding =
      AddError(context, result, "groups_differ", "parameter groups", {{"baseline", x}, {"migrated", y}});
  finding.set_baseline(x);
  finding.set_migrated(y);
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  std::map<std::string, Groups> groups[2];
  for (const RunView& run : context.evidence.Runs(Side::kBaseline)) {
    groups[0][run.name] = PrintedGroups(context.rules, run);
  }
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    groups[1][run.name] = PrintedGroups(context.rules, run);
  }
  const auto compare = [&](const SettingsView& baseline, const SettingsView& migrated) {
    Groups a = groups[0][baseline.run_name()];
    Groups b = groups[1][migrated.run_name()];
    if (!a.any && !b.any) {
      a = GroupsOfScripts(context.rules, baseline.flow());
      b = GroupsOfScripts(context.rules, migrated.flow());
    }
    if (!a.any) AddMissing(context, result, "groups_unknown", baseline.run_name(), {{"run", baseline.run_name()}});
    if (!b.any) AddMissing(context, result, "groups_unknown", migrated.run_name(), {{"run", migrated.run_name()}});
    if (a.any && b.any) Compare(context, result, migrated.run_name(), a, b);
  };
  ComparePairs(context, result, compare, kReadScripts);
}

}  // namespace

extern const Check kParameterGroups;
const Check kParameterGroups = {"model.hyperparameters.per-group", {}, &Evaluate};

}  // namespace paritect
