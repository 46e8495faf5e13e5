// cluster.consistency.data and .code: the nodes of a run hold the same data (their file lists, where they were taken)
// and run the same code (the git revision or a digest of the code among the settings). The nodes that are not of the
// majority are named. Scripts that were collected will be evidence for .code too.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/cluster/consistency.h"
#include "checks/datasets/nodes.h"
#include "checks/settings/compare.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kShortRevision = 7;  // the shortest abbreviation that git prints

// Runs of several nodes on one side; the others are told to be no cluster, or to lack their peers.
bool AnyCluster(const CheckContext& context, v1::CheckResult& result, Side side) {
  bool any = false;
  for (const RunView& run : context.evidence.Runs(side)) {
    any = !SingleNode(context, result, side, run, true) || any;
  }
  return any;
}

void Data(const CheckContext& context, v1::CheckResult& result) {
  bool any = false;
  for (Side side : kBothSides) {
    if (!AnyCluster(context, result, side)) continue;
    any = true;
    // Where no node shows its data, RequireEvidence says so; where one alone does, the others are missing.
    if (!RequireEvidence(context, result, side, v1::EVIDENCE_KIND_DATASET_FILES)) continue;
    if (!CompareDatasetNodes(context, result, side) && result.missing_size() == 0) {
      AddMissing(context, result, "dataset_of_one_node", SideName(side));
    }
  }
  if (!any && result.findings_size() == 0 && result.missing_size() == 0) {
    RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_DATASET_FILES);
  }
}

bool SameRevision(const std::string& a, const std::string& b) {
  const std::string x = absl::AsciiStrToLower(a);
  const std::string y = absl::AsciiStrToLower(b);
  if (x == y) return true;
  const std::string& shorter = x.size() < y.size() ? x : y;
  const std::string& longer = x.size() < y.size() ? y : x;
  return shorter.size() >= kShortRevision && absl::StartsWith(longer, shorter);
}

struct OnNode {
  std::string node;
  std::string text;
  std::string origin;
};

// What the nodes of a run say of their code, by canonical key. Most raw keys are seen on every node: each is looked up
// once.
class CodeReader {
 public:
  explicit CodeReader(const SettingsRules& rules) : rules_(rules) {}

  void Read(const v1::Bundle& bundle) {
    for (const auto& [name, fact] : bundle.plan().facts()) {
      v1::Setting setting;
      setting.set_raw_key(name);
      *setting.mutable_value() = fact;
      Take(bundle, "fact", setting, bundle.plan().plan_file());
    }
    for (const v1::Evidence& evidence : bundle.evidence()) {
      const v1::SettingsDocument& document = evidence.settings();
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || document.kind() == "packages" || document.kind() == "devices")
        continue;
      for (const v1::Setting& setting : document.settings()) {
        if (Speaks(document.format(), setting)) Take(bundle, document.format(), setting, setting.origin());
      }
    }
  }

  std::vector<OnNode>& said(const std::string& key) { return said_[key]; }

 private:
  static bool IsCode(const SettingKey& key) { return key.group == "code"; }

  bool Speaks(const std::string& format, const v1::Setting& setting) {
    auto [it, added] = speaks_[format].try_emplace(setting.raw_key(), false);
    if (added) {
      for (const CanonicalSetting& one : rules_.Canonicalise(format, setting)) {
        it->second = it->second || IsCode(*one.key);
      }
    }
    return it->second;
  }

  void Take(const v1::Bundle& bundle, const std::string& format, const v1::Setting& setting,
            const std::string& origin) {
    for (const CanonicalSetting& one : rules_.Canonicalise(format, setting)) {
      const std::string text = ValueToText(one.value);
      std::vector<OnNode>& list = said_[one.key->key];
      const std::string& node = bundle.plan().node();
      // The first word of a node counts; its bundles follow one another.
      if (IsCode(*one.key) && !text.empty() && (list.empty() || list.back().node != node))
        list.push_back({node, text, origin});
    }
  }

  const SettingsRules& rules_;
  std::map<std::string, absl::flat_hash_map<std::string, bool>> speaks_;  // format -> raw key
  std::map<std::string, std::vector<OnNode>> said_;
};

// The value that most nodes have; of equals the first.
std::string Usual(const std::vector<OnNode>& said) {
  std::vector<std::pair<std::string, int>> kinds;  // few, however many the nodes
  for (const OnNode& one : said) {
    auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return SameRevision(kind.first, one.text); });
    if (known == kinds.end()) {
      kinds.emplace_back(one.text, 1);
    } else {
      ++known->second;
    }
  }
  std::string usual;
  int largest = 0;
  for (const auto& [text, count] : kinds) {
    if (count <= largest) continue;
    largest = count;
    usual = text;
  }
  return usual;
}

// False where nodes differ.
bool CompareCode(const CheckContext& context, v1::CheckResult& result, Side side, const std::string& key,
                 const std::vector<OnNode>& said) {
  const std::string usual = Usual(said);
  std::vector<std::string> odd;
  std::vector<std::string> nodes;
  for (const OnNode& one : said) {
    if (SameRevision(one.text, usual)) continue;
    odd.push_back(StrCat(one.node, ": ", one.text, " (", one.origin, ")"));
    nodes.push_back(one.node);
  }
  if (odd.empty()) return true;
  v1::Finding& finding =
      AddError(context, result, "code_differs", key, {{"nodes", absl::StrJoin(odd, ", ")}, {"others", usual}});
  (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) =
      StrCat(absl::StrJoin(odd, ", "), "; others: ", usual);
  SetFact(finding, "nodes", absl::Span<const std::string>(nodes));
  for (const std::string& node : nodes) finding.add_nodes(node);
  return false;
}

void Code(const CheckContext& context, v1::CheckResult& result) {
  bool any_run = false;
  for (Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) {
      any_run = true;
      if (SingleNode(context, result, side, run, true)) continue;
      CodeReader reader(context.rules.settings);
      std::set<std::string> silent;
      for (const v1::Bundle* bundle : run.nodes) {
        silent.insert(bundle->plan().node());
        reader.Read(*bundle);
      }
      const std::set<std::string> all = silent;
      bool alike = true;
      for (const char* key : {"code_revision", "code_digest"}) {
        const std::vector<OnNode>& said = reader.said(key);
        std::set<std::string> here = all;
        for (const OnNode& one : said) here.erase(one.node);
        // One kind of evidence must speak for every node.
        if (here.size() < silent.size()) silent = here;
        alike = CompareCode(context, result, side, key, said) && alike;
      }
      for (const std::string& node : silent) AddMissing(context, result, "code_unknown", node, {{"node", node}});
      if (silent.empty() && alike) AddNote(context, result, "measured/same_nodes", run.name, {{"what", "code"}});
    }
  }
  if (!any_run) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
}

}  // namespace

extern const Check kConsistencyData;
const Check kConsistencyData = {"cluster.consistency.data", {}, &Data};
extern const Check kConsistencyCode;
const Check kConsistencyCode = {"cluster.consistency.code", {}, &Code};

}  // namespace paritect
