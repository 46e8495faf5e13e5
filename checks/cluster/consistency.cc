// cluster.consistency.variables, .versions and training.flow.environment.
// Variables that differ by nature (rules/data/settings.yaml) are left out; those that cannot change numbers are a
// warning; an explicit default equals an unset variable. The nodes that are not of the majority are named.
#include "checks/cluster/consistency.h"

#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "checks/cluster/environment_rules.h"
#include "checks/cluster/node_table.h"
#include "checks/settings/compare.h"
#include "common/node_names.h"

namespace paritect {
namespace {

using absl::StrCat;

std::string Meaning(absl::string_view text) {
  std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (lower == "true" || lower == "on" || lower == "yes") return "1";
  if (lower == "false" || lower == "off" || lower == "no") return "0";
  return lower;
}

constexpr std::size_t kNodesShown = 32;  // one by one; above, nodes of one value are counted

// Nodes of one meaning, and the value as the first of them writes it.
struct SameNodes {
  std::string shown;
  std::vector<std::string> nodes;
};
using ByMeaning = std::map<std::string, SameNodes>;

// The nodes by what a row of the table means on them. `unset`: what counts (and is shown) where a node has nothing.
ByMeaning GroupNodes(const NodeTable& table, const NodeTable::Row& row, const std::vector<std::uint32_t>& nodes,
                     const SameNodes& unset, const std::string& unset_meaning) {
  ByMeaning groups;
  absl::flat_hash_map<std::uint32_t, SameNodes*> by_cell;
  for (const std::uint32_t node : nodes) {
    const std::uint32_t cell = node < row.cells->size() ? (*row.cells)[node] : NodeTable::kUnset;
    SameNodes*& group = by_cell[cell];
    if (group == nullptr) {
      const bool nothing = cell == NodeTable::kUnset;
      group = &groups[nothing ? unset_meaning : Meaning(table.text(cell))];
      if (group->shown.empty()) group->shown = nothing ? unset.shown : std::string(table.text(cell));
    }
    group->nodes.emplace_back(table.node_name(node));
  }
  return groups;
}

// Whether all cells of the nodes are one text: the common case, decided without touching a text.
bool AllOne(const NodeTable::Row& row, const std::vector<std::uint32_t>& nodes) {
  const auto cell = [&](std::uint32_t node) {
    return node < row.cells->size() ? (*row.cells)[node] : NodeTable::kUnset;
  };
  return std::all_of(nodes.begin(), nodes.end(), [&](std::uint32_t node) { return cell(node) == cell(nodes[0]); });
}

// "npu1: unset, npu2: unset", of many nodes "npu[01-02,04-64] (63): unset".
std::string ShowGroup(const SameNodes& group) {
  if (group.nodes.size() > kNodesShown) return StrCat(FoldNodeNames(group.nodes), ": ", group.shown);
  std::vector<std::string> parts;
  for (const std::string& node : group.nodes) parts.push_back(StrCat(node, ": ", group.shown));
  return absl::StrJoin(parts, ", ");
}

// Message ids: some nodes are the odd ones out; no value has a majority.
struct DifferenceMessages {
  absl::string_view odd;
  absl::string_view split;
};
constexpr DifferenceMessages kVariableDiffers = {"variable_differs", "variable_differs/split"};
constexpr DifferenceMessages kVersionDiffers = {"version_differs", "version_differs/split"};

void AddDifference(const CheckContext& context, v1::CheckResult& result, Side side, v1::Severity severity,
                   const DifferenceMessages& messages, const std::string& name, const ByMeaning& groups) {
  std::size_t largest = 0;
  int with_largest = 0;
  for (const auto& [meaning, group] : groups) {
    with_largest = group.nodes.size() > largest ? 1 : with_largest + (group.nodes.size() == largest ? 1 : 0);
    largest = std::max(largest, group.nodes.size());
  }
  std::vector<std::string> odd;
  std::vector<std::string> all;
  std::vector<std::string> odd_nodes;
  std::string majority;
  for (const auto& [meaning, group] : groups) {
    all.push_back(ShowGroup(group));
    if (with_largest == 1 && group.nodes.size() == largest) {
      majority = group.shown;
    } else {
      odd.push_back(ShowGroup(group));
      odd_nodes.insert(odd_nodes.end(), group.nodes.begin(), group.nodes.end());
    }
  }
  std::sort(odd_nodes.begin(), odd_nodes.end());
  v1::Finding& finding = AddFinding(context, result, severity, majority.empty() ? messages.split : messages.odd, name,
                                    {{"name", name}, {"nodes", absl::StrJoin(odd, ", ")}, {"others", majority}});
  (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = absl::StrJoin(all, ", ");
  SetFact(finding, "nodes", absl::MakeSpan(all));
  for (const std::string& node : odd_nodes) finding.add_nodes(node);
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

// Every variable of every node: of environments, and those that launch scripts set.
void ReadVariables(const RunView& run, NodeTable& table) {
  for (const v1::Bundle* bundle : run.nodes) {
    const std::uint32_t node = table.Node(bundle->plan().node());
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_settings()) continue;
      const v1::SettingsDocument& document = evidence.settings();
      const bool environment = document.format() == "environment" || document.kind() == "environment";
      for (const v1::Setting& setting : document.settings()) {
        absl::string_view name = setting.raw_key();
        if (environment || absl::ConsumePrefix(&name, "env.")) table.Set(node, name, setting.raw_value());
      }
    }
  }
}

std::vector<std::uint32_t> Columns(NodeTable& table, const std::set<std::string>& nodes) {
  std::vector<std::uint32_t> columns;
  for (const std::string& node : nodes) columns.push_back(table.Node(node));
  return columns;
}

void Variables(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run, bool with_missing) {
  if (SingleNode(context, result, side, run, with_missing)) return;
  const std::set<std::string> nodes =
      NodesWith(context, result, run, "environment", "environment_unknown", with_missing);
  if (nodes.empty()) return;
  NodeTable table;
  ReadVariables(run, table);
  const std::vector<std::uint32_t> columns = Columns(table, nodes);
  const SettingsRules& rules = context.rules.settings;
  table.ForEachRow([&](const NodeTable::Row& row) {
    if (AllOne(row, columns)) return;
    const VariableEffect effect = rules.EffectOf(row.key);
    if (effect != VariableEffect::kNumbers && effect != VariableEffect::kHarmless) return;
    const std::string fallback = rules.DefaultOf(row.key);
    const ByMeaning groups =
        GroupNodes(table, row, columns, {"unset", {}}, fallback.empty() ? "\n" : Meaning(fallback));
    if (groups.size() < 2) return;
    const auto severity = effect == VariableEffect::kNumbers ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING;
    AddDifference(context, result, side, severity, kVariableDiffers, std::string(row.key), groups);
  });
}

bool IsVersion(absl::string_view key) {
  return absl::StartsWith(key, "package.") || absl::EndsWith(key, "version");
}

// Versions by node.
void ReadVersions(const RunView& run, NodeTable& table) {
  for (const v1::Bundle* bundle : run.nodes) {
    const std::uint32_t node = table.Node(bundle->plan().node());
    for (const v1::Evidence& evidence : bundle->evidence()) {
      const std::string& kind = evidence.settings().kind();
      if (!evidence.has_settings() || (kind != "packages" && kind != "versions" && kind != "devices")) continue;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        if (IsVersion(setting.raw_key())) table.Set(node, setting.raw_key(), setting.raw_value());
      }
    }
  }
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

// "8.9.2.26-1+cuda12.1" -> 8, 9, 2, 26.
std::vector<std::string> PartsOf(absl::string_view version) {
  absl::ConsumePrefix(&version, "v");
  const absl::string_view plain = version.substr(0, version.find_first_of("+-~ "));
  return absl::StrSplit(absl::AsciiStrToLower(plain), '.', absl::SkipEmpty());
}

// As far as both tell; "12.1" names every 12.1.x.
bool IsSameVersion(absl::string_view a, absl::string_view b, std::size_t parts) {
  const std::vector<std::string> left = PartsOf(a);
  const std::vector<std::string> right = PartsOf(b);
  std::size_t count = std::min(left.size(), right.size());
  if (parts > 0) count = std::min(count, parts);
  return std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count), right.begin());
}

// "12.1" of "2.1.0+cu121"; "" where there is none.
std::string CudaOf(absl::string_view version) {
  const std::size_t at = version.find("+cu");
  if (at == absl::string_view::npos) return "";
  const absl::string_view digits = version.substr(at + 3);
  const bool all = std::all_of(digits.begin(), digits.end(),
                               [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (digits.size() < 2 || !all) return "";
  return StrCat(digits.substr(0, digits.size() - 1), ".", digits.substr(digits.size() - 1));
}

// What tells of a version on a node, by raw key: versions, packages, variables that name one.
using Told = std::map<absl::string_view, absl::string_view>;

Told VersionsTold(const v1::Bundle& bundle) {
  Told told;
  for (const v1::Evidence& evidence : bundle.evidence()) {
    for (const v1::Setting& one : evidence.settings().settings()) {
      const std::string& key = one.raw_key();
      // The few that count, told from the thousands by their ends.
      const bool variable =
          absl::EndsWith(key, "_HOME") || absl::EndsWith(key, "_PATH") || absl::EndsWith(key, "_VERSION");
      if (IsVersion(key) || variable) told.try_emplace(key, one.raw_value());
    }
  }
  return told;
}

// The version that is loaded, and the key that tells it; "" where the node does not tell.
std::pair<std::string, std::string> Loaded(const Told& told, const VariableVersion& version) {
  for (absl::string_view pattern : version.loaded) {
    const bool of_cuda = absl::ConsumeSuffix(&pattern, "+cu");
    const bool open = absl::ConsumeSuffix(&pattern, "*");
    for (auto it = told.lower_bound(pattern); it != told.end() && absl::StartsWith(it->first, pattern); ++it) {
      if (!open && it->first != pattern) break;
      const std::string loaded = of_cuda ? CudaOf(it->second) : std::string(it->second);
      if (!loaded.empty()) return {loaded, StrCat(it->first, " ", it->second)};
    }
  }
  return {};
}

// A variable that names another version than the one that is loaded on the node.
void LoadedVersions(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  for (const v1::Bundle* bundle : run.nodes) {
    const Told told = VersionsTold(*bundle);
    for (const VariableVersion& version : context.rules.settings.variable_versions()) {
      const auto said = told.find(version.variable);
      if (said == told.end()) continue;
      const bool is_path = absl::StrContains(said->second, '/');
      const std::string named = is_path ? VersionInPath(said->second) : std::string(said->second);
      const auto [loaded, where] = Loaded(told, version);
      if (named.empty() || loaded.empty() || IsSameVersion(named, loaded, version.parts)) continue;
      v1::Finding& finding = AddWarning(context, result, "loaded_version_differs", bundle->plan().node(),
                                        {{"node", bundle->plan().node()},
                                         {"variable", StrCat(version.variable, "=", said->second)},
                                         {"loaded", where}});
      SetFact(finding, "variable", version.variable);
      SetFact(finding, "named", named);
      SetFact(finding, "loaded", loaded);
    }
  }
}

void Versions(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run, bool with_missing) {
  LoadedVersions(context, result, run);
  if (SingleNode(context, result, side, run, with_missing)) return;
  const std::set<std::string> nodes = NodesWith(context, result, run, "packages", "packages_unknown", with_missing);
  NodeTable table;
  ReadVersions(run, table);
  const std::vector<std::uint32_t> listing = Columns(table, nodes);
  std::vector<bool> lists(table.nodes(), false);
  for (const std::uint32_t node : listing) lists[node] = true;
  table.ForEachRow([&](const NodeTable::Row& row) {
    // A package that one list names and another does not is a difference; of the rest only nodes that tell count.
    const bool package = absl::StartsWith(row.key, "package.");
    std::vector<std::uint32_t> columns;
    if (package) columns = listing;
    for (std::uint32_t node = 0; node < row.cells->size(); ++node) {
      if ((*row.cells)[node] != NodeTable::kUnset && !(package && lists[node])) columns.push_back(node);
    }
    if (columns.empty() || AllOne(row, columns)) return;
    const ByMeaning groups = GroupNodes(table, row, columns, {"not installed", {}}, "\n");
    if (groups.size() > 1)
      AddDifference(context, result, side, v1::SEVERITY_ERROR, kVersionDiffers, std::string(row.key), groups);
  });
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

// Each version as the first node by name has it.
std::map<std::string, std::string> FirstVersions(const RunView& run) {
  NodeTable table;
  ReadVersions(run, table);
  std::map<std::string, std::string> versions;
  table.ForEachRow([&](const NodeTable::Row& row) {
    absl::string_view first;
    for (std::uint32_t node = 0; node < row.cells->size(); ++node) {
      if ((*row.cells)[node] == NodeTable::kUnset) continue;
      if (!first.empty() && table.node_name(node) >= first) continue;
      first = table.node_name(node);
      versions[std::string(row.key)] = std::string(table.text((*row.cells)[node]));
    }
  });
  return versions;
}

// Packages whose version should be the same on both sides: not the ones that a port exchanges.
void CompareRuns(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                 const RunView& migrated) {
  const std::map<std::string, std::string> a = FirstVersions(baseline);
  const std::map<std::string, std::string> b = FirstVersions(migrated);
  for (const auto& [name, x] : a) {
    auto other = b.find(name);
    if (!absl::StartsWith(name, "package.") || other == b.end()) continue;
    const std::string& y = other->second;
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
  JudgeLinks(context, result);
  CompareDeterminism(context, result);
}

}  // namespace

bool SingleNode(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run,
                bool with_missing) {
  std::set<std::string> names;
  for (const v1::Bundle* bundle : run.nodes) names.insert(bundle->plan().node());
  if (names.size() > 1) return false;
  if (!with_missing) return true;
  const SettingsView& view = SettingsView::Of(context, side, run);
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
