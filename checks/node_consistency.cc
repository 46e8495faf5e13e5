// cluster.consistency.variables, .versions and training.flow.environment.
// Variables that differ by nature (rules/data/settings.yaml) are left out; those that cannot change numbers are a
// warning; an explicit default equals an unset variable. The nodes that are not of the majority are named.
#include "checks/node_consistency.h"

#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "checks/settings_check.h"

namespace paritect {
namespace {

using absl::StrCat;

// Node -> value as shown; the comparable form stands beside it.
struct NodeValue {
  std::string shown;
  std::string meaning;
};
using NodeValues = std::map<std::string, NodeValue>;

std::string Meaning(absl::string_view text) {
  std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (lower == "true" || lower == "on" || lower == "yes") return "1";
  if (lower == "false" || lower == "off" || lower == "no") return "0";
  return lower;
}

// "npu1: unset" of the nodes outside the largest group; all nodes where no group is larger.
std::string OddOnes(const NodeValues& values, std::string& majority) {
  std::map<std::string, int> sizes;
  for (const auto& [node, value] : values) ++sizes[value.meaning];
  int largest = 0;
  int with_largest = 0;
  for (const auto& [meaning, size] : sizes) {
    with_largest = size > largest ? 1 : with_largest + (size == largest ? 1 : 0);
    largest = std::max(largest, size);
  }
  std::vector<std::string> odd;
  for (const auto& [node, value] : values) {
    if (with_largest == 1 && sizes[value.meaning] == largest) {
      majority = value.shown;
    } else {
      odd.push_back(StrCat(node, ": ", value.shown));
    }
  }
  return absl::StrJoin(odd, ", ");
}

bool Differ(const NodeValues& values) {
  std::set<std::string> meanings;
  for (const auto& [node, value] : values) meanings.insert(value.meaning);
  return meanings.size() > 1;
}

// Message ids: some nodes are the odd ones out; no value has a majority.
struct DifferenceMessages {
  absl::string_view odd;
  absl::string_view split;
};
constexpr DifferenceMessages kVariableDiffers = {"variable_differs", "variable_differs/split"};
constexpr DifferenceMessages kVersionDiffers = {"version_differs", "version_differs/split"};

void AddDifference(const CheckContext& context, v1::CheckResult& result, Side side, v1::Severity severity,
                   const DifferenceMessages& messages, const std::string& name, const NodeValues& values) {
  std::string majority;
  const std::string odd = OddOnes(values, majority);
  const std::string others = majority.empty() ? "" : majority;
  v1::Finding& finding = AddFinding(context, result, severity, majority.empty() ? messages.split : messages.odd, name,
                                    {{"name", name}, {"nodes", odd}, {"others", others}});
  std::vector<std::string> all;
  for (const auto& [node, value] : values) all.push_back(StrCat(node, ": ", value.shown));
  (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = absl::StrJoin(all, ", ");
  SetFact(finding, "nodes", absl::MakeSpan(all));
}

// Nodes of a run that have settings of the wanted form; the others are missing when there are several nodes.
std::set<std::string> NodesWith(const CheckContext& context, v1::CheckResult& result, const RunView& run,
                                const char* kind, const char* message, bool with_missing) {
  std::set<std::string> nodes;
  for (const v1::Bundle* bundle : run.nodes) {
    bool has = false;
    for (const v1::Evidence& evidence : bundle->evidence()) {
      has = has ||
            (evidence.has_settings() && (evidence.settings().kind() == kind || evidence.settings().format() == kind));
    }
    if (has) {
      nodes.insert(bundle->plan().node());
    } else if (with_missing) {
      AddMissing(context, result, message, bundle->plan().node(), {{"node", bundle->plan().node()}});
    }
  }
  return nodes;
}

// What could not be read may be what differs; a lone node has nothing to differ from.
void ReportUnreadable(const CheckContext& context, v1::CheckResult& result, Side side) {
  std::map<std::string, std::set<std::string>> nodes;
  for (const RunView& run : context.evidence.Runs(side)) {
    for (const v1::Bundle* bundle : run.nodes) nodes[run.name].insert(bundle->plan().node());
  }
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_SETTINGS,
                           [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
                             if (evidence.outcome() == v1::OUTCOME_COLLECTED || nodes[bundle.plan().run()].size() < 2)
                               return;
                             AddMissing(context, result, evidence.problem(), WhereFrom(bundle, evidence));
                           });
}

void Variables(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run, bool with_missing) {
  if (SingleNode(context, result, side, run, with_missing)) return;
  const std::set<std::string> nodes =
      NodesWith(context, result, run, "environment", "environment_unknown", with_missing);
  const SettingsView view = SettingsView::Of(context, side, run);
  const SettingsRules& rules = context.rules.settings;
  for (const auto& [name, list] : view.variables()) {
    const VariableEffect effect = rules.EffectOf(name);
    if (effect != VariableEffect::kNumbers && effect != VariableEffect::kHarmless) continue;
    NodeValues values;
    const std::string fallback = rules.DefaultOf(name);
    for (const std::string& node : nodes) values[node] = {"unset", fallback.empty() ? "\n" : Meaning(fallback)};
    for (const VariableOnNode& one : list) {
      if (nodes.contains(one.node)) values[one.node] = {one.text, Meaning(one.text)};
    }
    if (!Differ(values)) continue;
    const auto severity = effect == VariableEffect::kNumbers ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING;
    AddDifference(context, result, side, severity, kVariableDiffers, name, values);
  }
}

bool IsVersion(absl::string_view key) {
  return absl::StartsWith(key, "package.") || absl::EndsWith(key, "version");
}

// Versions by node; a package that one node lists and another does not counts as a difference.
std::map<std::string, NodeValues> VersionsOf(const RunView& run) {
  std::map<std::string, NodeValues> versions;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      const std::string& kind = evidence.settings().kind();
      if (!evidence.has_settings() || (kind != "packages" && kind != "versions" && kind != "devices")) continue;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        if (IsVersion(setting.raw_key())) {
          versions[setting.raw_key()][bundle->plan().node()] = {setting.raw_value(),
                                                                absl::AsciiStrToLower(setting.raw_value())};
        }
      }
    }
  }
  return versions;
}

// "8.0.RC3" of "/usr/local/Ascend/ascend-toolkit/8.0.RC3", "12.1" of "/usr/local/cuda-12.1"; "" where there is none.
std::string VersionInPath(absl::string_view path) {
  std::string found;
  for (absl::string_view part : absl::StrSplit(path, absl::ByAnyChar("/-"), absl::SkipEmpty())) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(part[0])) && absl::StrContains(part, '.'))
      found = std::string(part);
  }
  return found;
}

// A variable that names another version than the one whose files lie on the node.
void LoadedVersions(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  static constexpr std::pair<absl::string_view, absl::string_view> kPairs[] = {
      {"ASCEND_TOOLKIT_HOME", "cann.toolkit.version"},
      {"ASCEND_HOME_PATH", "cann.toolkit.version"},
      {"CUDA_HOME", "cuda.version"}};
  for (const v1::Bundle* bundle : run.nodes) {
    std::map<std::string, std::string, std::less<>> said;
    for (const v1::Evidence& evidence : bundle->evidence()) {
      for (const v1::Setting& one : evidence.settings().settings()) said.try_emplace(one.raw_key(), one.raw_value());
    }
    for (const auto& [variable, key] : kPairs) {
      const auto path = said.find(variable);
      const auto loaded = said.find(key);
      if (path == said.end() || loaded == said.end()) continue;
      const std::string named = VersionInPath(path->second);
      // "12.1" names every 12.1.x.
      if (named.empty() || named == loaded->second || absl::StartsWith(loaded->second, StrCat(named, "."))) continue;
      AddWarning(context, result, "loaded_version_differs", bundle->plan().node(),
                 {{"node", bundle->plan().node()},
                  {"variable", StrCat(variable, "=", path->second)},
                  {"loaded", StrCat(key, " ", loaded->second)}});
    }
  }
}

void Versions(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run, bool with_missing) {
  LoadedVersions(context, result, run);
  if (SingleNode(context, result, side, run, with_missing)) return;
  const std::set<std::string> nodes = NodesWith(context, result, run, "packages", "packages_unknown", with_missing);
  for (auto& [name, values] : VersionsOf(run)) {
    for (const std::string& node : nodes) {
      if (absl::StartsWith(name, "package.")) values.try_emplace(node, NodeValue{"not installed", "\n"});
    }
    if (Differ(values)) AddDifference(context, result, side, v1::SEVERITY_ERROR, kVersionDiffers, name, values);
  }
}

bool AnySide(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    if (!context.evidence.Runs(side).empty()) return true;
  }
  RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
  return false;
}

void EvaluateVariables(const CheckContext& context, v1::CheckResult& result) {
  if (!AnySide(context, result)) return;
  for (Side side : kBothSides) {
    ReportUnreadable(context, result, side);
    CompareVariables(context, result, side, true);
  }
}

void EvaluateVersions(const CheckContext& context, v1::CheckResult& result) {
  if (!AnySide(context, result)) return;
  for (Side side : kBothSides) {
    ReportUnreadable(context, result, side);
    CompareNodeVersions(context, result, side, true);
  }
}

// Packages whose version should be the same on both sides: not the ones that a port exchanges.
void CompareRuns(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                 const RunView& migrated) {
  const auto a = VersionsOf(baseline);
  const auto b = VersionsOf(migrated);
  for (const auto& [name, values] : a) {
    auto other = b.find(name);
    if (!absl::StartsWith(name, "package.") || other == b.end()) continue;
    const std::string& x = values.begin()->second.shown;
    const std::string& y = other->second.begin()->second.shown;
    v1::Value u, v;
    u.set_text(x);
    v.set_text(y);
    if (SameMeaning(SettingType::kVersion, TypedValue(SettingType::kVersion, u), TypedValue(SettingType::kVersion, v)))
      continue;
    if (HasFinding(result, "version_differs", name, x, y)) continue;
    v1::Finding& finding =
        AddWarning(context, result, "version_differs/sides", name, {{"name", name}, {"baseline", x}, {"migrated", y}});
    finding.set_baseline(x);
    finding.set_migrated(y);
  }
}

void CompareSides(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunView> baseline = context.evidence.Runs(Side::kBaseline);
  std::vector<std::string> names;
  for (const RunView& run : baseline) names.push_back(run.name);
  const ComparedRuns runs = RunsToCompare(context, names);
  for (const RunView& reference : baseline) {
    if (reference.name != runs.reference) continue;
    for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
      if (!runs.left_out.contains(run.name)) CompareRuns(context, result, reference, run);
    }
  }
}

void EvaluateEnvironment(const CheckContext& context, v1::CheckResult& result) {
  if (!AnySide(context, result)) return;
  for (Side side : kBothSides) {
    ReportUnreadable(context, result, side);
    CompareVariables(context, result, side, true);
    CompareNodeVersions(context, result, side, true);
  }
  CompareSides(context, result);
}

}  // namespace

bool SingleNode(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run,
                bool with_missing) {
  std::set<std::string> names;
  for (const v1::Bundle* bundle : run.nodes) names.insert(bundle->plan().node());
  if (names.size() > 1) return false;
  if (!with_missing) return true;
  const SettingsView view = SettingsView::Of(context, side, run);
  const auto nodes = view.Number("nodes");
  const auto world = view.Number("world_size");
  const auto local = view.Number("devices_per_node");
  if ((nodes && *nodes == 1) || (world && local && *world == *local) || (world && *world == 1)) {
    AddNote(context, result, "not_applicable", run.name, {{"why", StrCat("one node (", *names.begin(), ")")}});
  } else {
    AddMissing(context, result, "other_nodes_unknown", run.name, {{"node", *names.begin()}});
  }
  return true;
}

void CompareVariables(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing) {
  for (const RunView& run : context.evidence.Runs(side)) Variables(context, result, side, run, with_missing);
}

void CompareNodeVersions(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing) {
  for (const RunView& run : context.evidence.Runs(side)) Versions(context, result, side, run, with_missing);
}

extern const Check kConsistencyVariables;
const Check kConsistencyVariables = {"cluster.consistency.variables", {}, &EvaluateVariables};
extern const Check kConsistencyVersions;
const Check kConsistencyVersions = {"cluster.consistency.versions", {}, &EvaluateVersions};
extern const Check kFlowEnvironment;
const Check kFlowEnvironment = {"training.flow.environment", {}, &EvaluateEnvironment};

}  // namespace paritect
