#include "server/bundle_reader.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "formats/evidence_parts.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

// The pieces of one attempt, none left out.
absl::Status ReadPieces(FleetStore& store, const TaskAttempt& attempt, int stated, v1::StoredBundle& out) {
  const std::string name = absl::StrCat("task ", attempt.task, " of node ", attempt.node);
  absl::Status damage;
  PARITECT_RETURN_IF_ERROR(
      store.Scan("piece", PiecePrefix(attempt), "", [&](absl::string_view, absl::string_view value) {
        const int expected = out.pieces_size();
        v1::Piece& piece = *out.add_pieces();
        if (!ParseStable(value, piece)) {
          damage = absl::DataLossError(absl::StrCat("piece ", expected, " of ", name, " cannot be read"));
        } else if (piece.index() != expected) {
          damage = absl::DataLossError(absl::StrCat("piece ", expected, " of ", name, " is missing"));
        }
        return damage.ok();
      }));
  if (damage.ok() && out.pieces_size() != stated) {
    damage =
        absl::DataLossError(absl::StrCat(out.pieces_size(), " pieces of ", name, " are there; it stated ", stated));
  }
  return damage;
}

v1::Bundle HeadOf(const v1::StoredBundle& stored) {
  v1::Bundle bundle;
  *bundle.mutable_plan() = stored.plan();
  bundle.set_collected_by(stored.program());
  bundle.set_collected_at_unix_ms(stored.collected_at_unix_ms());
  return bundle;
}

}  // namespace

absl::StatusOr<v1::StoredBundle> CollectedBundle(FleetStore& store, const std::string& task_id,
                                                 const std::string& node) {
  PARITECT_ASSIGN_OR_RETURN(const auto value, store.Get("task_end", TaskEndKey(task_id, node)));
  if (!value) return absl::NotFoundError(absl::StrCat("task ", task_id, " has not ended on node ", node));
  v1::TaskEnd end;
  if (!ParseStable(*value, end)) {
    return absl::DataLossError(absl::StrCat("the end of task ", task_id, " of node ", node, " cannot be read"));
  }
  v1::StoredBundle stored;
  *stored.mutable_plan() = end.plan();
  stored.mutable_plan()->set_node(node);
  stored.set_program(end.program());
  stored.set_collected_at_unix_ms(end.collected_at_unix_ms());
  PARITECT_RETURN_IF_ERROR(ReadPieces(store, {task_id, node, end.epoch(), end.attempt()}, end.pieces(), stored));
  return stored;
}

absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored) {
  MessageBudget budget;
  return LoadBundle(store, stored, budget);
}

absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored, MessageBudget& budget) {
  v1::Bundle bundle = HeadOf(stored);
  for (const v1::Piece& piece : stored.pieces()) {
    PARITECT_ASSIGN_OR_RETURN(*bundle.add_evidence(),
                              PutTogether(
                                  piece, [&store](absl::string_view sha256) { return store.Content(sha256); }, budget));
  }
  return bundle;
}

absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored, MessageBudget& budget,
                                      ListsInCommon& lists) {
  v1::Bundle bundle = HeadOf(stored);
  const auto content = [&store](absl::string_view sha256) { return store.Content(sha256); };
  std::vector<ListEvidence> read;
  for (const v1::Piece& piece : stored.pieces()) {
    PARITECT_ASSIGN_OR_RETURN(read.emplace_back(), PutTogetherList(piece, content, budget, lists.known));
  }
  // Not before all of it is there: nobody may stand for a list of a bundle that is given up.
  for (int i = 0; i < stored.pieces_size(); ++i) {
    ListEvidence& one = read[static_cast<std::size_t>(i)];
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence = std::move(one.evidence);
    if (!evidence.has_files()) continue;
    v1::FileList& list = *evidence.mutable_files();
    if (one.without_files && !lists.shared->StandFor(one.tree, list)) {
      PARITECT_ASSIGN_OR_RETURN(evidence, PutTogether(stored.pieces(i), content, budget));
    }
    if (one.without_files) continue;
    lists.shared->Take(list, &budget);
    if (one.tree.empty()) continue;
    lists.shared->Name(one.tree, list);
    lists.known.Keep(one.tree, std::move(one.files));
  }
  return bundle;
}

absl::StatusOr<v1::StoredBundle> StoreBundle(v1::Bundle& bundle, WriteSet& set) {
  v1::StoredBundle stored;
  *stored.mutable_plan() = bundle.plan();
  stored.set_program(bundle.collected_by());
  stored.set_collected_at_unix_ms(bundle.collected_at_unix_ms());
  MakeTextsUtf8(stored);
  for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
    PARITECT_ASSIGN_OR_RETURN(EvidenceParts apart, TakeApart(evidence));
    apart.piece.set_index(stored.pieces_size());
    for (EvidenceParts::Content& one : apart.contents) {
      set.contents.push_back({std::move(one.sha256), std::move(one.bytes)});
    }
    for (const TreeNode& node : apart.tree.order) {
      set.contents.push_back({node.sha256, apart.tree.nodes.at(node.sha256), node.level});
    }
    *stored.add_pieces() = std::move(apart.piece);
  }
  return stored;
}

}  // namespace paritect
