#include "server/recorded_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/glob.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "formats/evidence_parts.h"
#include "formats/plan_identity.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kCollection = "bundle";

// Versions that stored no origin said it in words.
v1::BundleOrigin OriginOf(const v1::StoredBundle& stored) {
  if (stored.origin() != v1::BUNDLE_ORIGIN_UNSPECIFIED) return stored.origin();
  if (absl::StartsWith(stored.source(), "audit ")) return v1::BUNDLE_ORIGIN_AUDIT;
  if (absl::StartsWith(stored.source(), "import of ")) return v1::BUNDLE_ORIGIN_IMPORT;
  return v1::BUNDLE_ORIGIN_NODE;
}

// What stands for the plan in bundles of versions that stated no identity: the plan's name for people, and who brought
// it ("audit a" of "audit a #3").
std::string KeyInWords(const v1::StoredBundle& stored) {
  const std::string& source = stored.source();
  const bool of_audit = OriginOf(stored) == v1::BUNDLE_ORIGIN_AUDIT;
  return PlanKey({"words", stored.plan().plan_file(), of_audit ? source.substr(0, source.rfind(" #")) : source});
}

struct Part {
  v1::StoredBundle bundle;
  std::string key;  // empty: none is stated
  std::string key_in_words;
  std::set<std::string> asked;  // sources, found or not
  std::set<std::string> had;    // those that gave evidence
};

std::string SourceKey(const v1::Piece& piece) {
  return PlanKey({absl::StrCat(static_cast<int>(piece.kind())), piece.subject(), piece.source(),
                  piece.has_rank() ? absl::StrCat(piece.rank()) : ""});
}

Part MakePart(v1::StoredBundle bundle) {
  Part part;
  part.key = bundle.plan().identity().key();
  part.key_in_words = KeyInWords(bundle);
  for (const v1::Piece& piece : bundle.pieces()) {
    std::string source = SourceKey(piece);
    if (piece.outcome() == v1::OUTCOME_COLLECTED) part.had.insert(source);
    part.asked.insert(std::move(source));
  }
  part.bundle = std::move(bundle);
  return part;
}

// Of one node. `newer` was not collected before `older`.
bool Replaces(const Part& newer, const Part& older) {
  const v1::PlanIdentity& a = newer.bundle.plan().identity();
  const v1::PlanIdentity& b = older.bundle.plan().identity();
  const bool same_plan = older.key.empty() ? newer.key_in_words == older.key_in_words : newer.key == older.key;
  if (!same_plan || a.has_rank() != b.has_rank() || a.rank() != b.rank()) return false;
  // Commands that ran at the same time are ranks that nothing told apart, not one command again.
  if (a.began_unix_ms() != 0 && older.bundle.collected_at_unix_ms() > a.began_unix_ms()) return false;
  return std::includes(newer.asked.begin(), newer.asked.end(), older.had.begin(), older.had.end());
}

bool FitsAny(const std::vector<std::string>& patterns, absl::string_view node) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [node](const std::string& pattern) { return GlobMatch(pattern, node); });
}

// The nodes that audits and imports gave the run; empty: none did.
std::set<std::string> NamedNodes(const std::vector<v1::StoredBundle>& bundles) {
  std::set<std::string> named;
  for (const v1::StoredBundle& one : bundles) {
    if (OriginOf(one) != v1::BUNDLE_ORIGIN_NODE) named.insert(one.plan().node());
  }
  return named;
}

bool IsNewerFirst(const v1::StoredBundle& a, const v1::StoredBundle& b) {
  return std::tuple(b.collected_at_unix_ms(), b.stored_unix_ms()) <
         std::tuple(a.collected_at_unix_ms(), a.stored_unix_ms());
}

bool IsLowerRank(const Part& a, const Part& b) {
  const v1::PlanIdentity& left = a.bundle.plan().identity();
  const v1::PlanIdentity& right = b.bundle.plan().identity();
  return std::pair(!left.has_rank(), left.rank()) < std::pair(!right.has_rank(), right.rank());
}

std::vector<std::string> NodesOf(const std::vector<v1::StoredBundle>& bundles) {
  std::set<std::string> nodes;
  for (const v1::StoredBundle& one : bundles) nodes.insert(one.plan().node());
  return {nodes.begin(), nodes.end()};
}

}  // namespace

RecordedRun SortBundles(std::vector<v1::StoredBundle> bundles, const std::vector<std::string>& nodes) {
  RecordedRun out;
  const std::set<std::string> named = nodes.empty() ? NamedNodes(bundles) : std::set<std::string>();
  std::stable_sort(bundles.begin(), bundles.end(), &IsNewerFirst);
  std::map<std::string, std::vector<Part>> kept;  // the newest first
  for (v1::StoredBundle& one : bundles) {
    const std::string node = one.plan().node();
    const bool counts = !nodes.empty() ? FitsAny(nodes, node) : named.empty() || named.contains(node);
    if (!counts) {
      out.left_out.push_back(std::move(one));
      continue;
    }
    Part part = MakePart(std::move(one));
    std::vector<Part>& of_node = kept[node];
    const bool again =
        std::any_of(of_node.begin(), of_node.end(), [&part](const Part& newer) { return Replaces(newer, part); });
    if (again) {
      out.replaced.push_back(std::move(part.bundle));
    } else {
      of_node.push_back(std::move(part));
    }
  }
  for (auto& [node, parts] : kept) {
    std::reverse(parts.begin(), parts.end());
    // Which rank's evidence came first says nothing, and must not show.
    std::stable_sort(parts.begin(), parts.end(), &IsLowerRank);
    for (Part& part : parts) out.counted.push_back(std::move(part.bundle));
  }
  return out;
}

absl::Status ScanRun(FleetStore& store, const std::string& run,
                     absl::FunctionRef<void(absl::string_view key, const v1::StoredBundle*)> visit) {
  const auto one = [&](absl::string_view key, absl::string_view value) {
    v1::StoredBundle bundle;
    if (!ParseStable(value, bundle)) {
      visit(key, nullptr);
    } else if (bundle.plan().run() == run) {
      visit(key, &bundle);
    }
    return true;
  };
  const std::string prefix = GroupPrefix(run);
  PARITECT_RETURN_IF_ERROR(store.Scan(kCollection, prefix, "", one));
  // Versions before this one wrote the name as it is; what else begins with it is of other runs.
  const std::string as_it_is = run + "/";
  return as_it_is == prefix ? absl::OkStatus() : store.Scan(kCollection, as_it_is, "", one);
}

absl::StatusOr<RecordedRun> ReadRecordedRun(FleetStore& store, const std::string& run,
                                            const std::vector<std::string>& nodes) {
  std::vector<v1::StoredBundle> bundles;
  std::vector<std::string> damaged;
  PARITECT_RETURN_IF_ERROR(ScanRun(store, run, [&](absl::string_view key, const v1::StoredBundle* bundle) {
    if (bundle != nullptr) {
      bundles.push_back(*bundle);
    } else {
      damaged.push_back(absl::StrCat("bundle ", key, " cannot be read"));
    }
  }));
  if (bundles.empty() && damaged.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no recorded run '", run, "' (`paritect runs ls` lists all)"));
  }
  RecordedRun out = SortBundles(std::move(bundles), nodes);
  out.damaged = std::move(damaged);
  if (out.counted.empty() && out.damaged.empty()) {
    return absl::NotFoundError(absl::StrCat("no node of run '", run, "' fits its nodes (", absl::StrJoin(nodes, ", "),
                                            "); it is recorded of ", absl::StrJoin(NodesOf(out.left_out), ", ")));
  }
  return out;
}

std::vector<std::string> NodesOfRun(const v1::AuditSide& side, const std::string& run) {
  for (const v1::RunNodes& one : side.run_nodes()) {
    if (one.run() == run) return {one.nodes().begin(), one.nodes().end()};
  }
  return {};
}

absl::Status CheckRecordedRuns(FleetStore& store, const v1::AuditDefinition& definition) {
  const v1::AuditSide* const sides[] = {&definition.baseline(), &definition.migrated()};
  std::map<std::string, std::set<std::string>> nodes_of[2];
  for (int side = 0; side < 2; ++side) {
    for (const std::string& run : sides[side]->runs()) {
      const std::vector<std::string> nodes = NodesOfRun(*sides[side], run);
      PARITECT_ASSIGN_OR_RETURN(const RecordedRun recorded, ReadRecordedRun(store, run, nodes));
      for (std::string& node : NodesOf(recorded.counted)) nodes_of[side][run].insert(std::move(node));
      for (const v1::Plan& plan : sides[1 - side]->plans()) {
        if (plan.info().run() != run || !nodes.empty()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("run '", run,
                         "' is recorded evidence of one side and what the other side's plans collect: "
                         "the next audit would compare it with itself; give the plans another `run:`, or say whose "
                         "bundles count: `runs: [{run: ",
                         run, ", nodes: [\"NODE-*\"]}]`"));
      }
    }
  }
  for (const auto& [run, nodes] : nodes_of[0]) {
    for (const std::string& node : nodes) {
      if (!nodes_of[1][run].contains(node)) continue;
      return absl::InvalidArgumentError(absl::StrCat("run '", run, "' of node '", node,
                                                     "' would stand on both sides and agree with itself; say whose "
                                                     "bundles count on each: `runs: [{run: ",
                                                     run, ", nodes: [\"NODE-*\"]}]`"));
    }
  }
  return absl::OkStatus();
}

std::string AuditPlanKey() {
  return PlanKey({"audit"});
}

std::vector<std::string> PartsOf(const v1::StoredBundle& stored) {
  std::vector<std::string> parts;
  for (const v1::Piece& piece : stored.pieces()) {
    for (std::string& digest : ReferencesOf(piece)) parts.push_back(std::move(digest));
  }
  return parts;
}

std::string AddBundleDocument(const v1::StoredBundle& stored, WriteSet& set) {
  // What the plan states belongs to it: ranks with equal logs are two bundles.
  v1::PlanInfo plan = stored.plan();
  std::string pieces;
  for (const v1::Piece& piece : stored.pieces()) pieces += piece.sha256();
  const std::string key =
      BundleKey(stored.plan().run(), stored.plan().node(), PlanKey({SerializeStable(plan), std::move(pieces)}));
  set.documents.push_back({std::string(kCollection), key, stored.SerializeAsString(), PartsOf(stored)});
  return key;
}

}  // namespace paritect
