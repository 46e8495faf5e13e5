// Shards: which rank read what. One piece of evidence a list (rank, epoch and run segment); a rank that
// the plan expects on this node and that has no list is evidence of its absence.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/collectors/shard_trace.h"
#include "common/glob.h"
#include "common/utf8.h"
#include "formats/shards/shard_format.h"

namespace paritect {
namespace {

class ShardCollector {
 public:
  ShardCollector(const CollectorEnv& env, const v1::Plan& plan, const v1::ShardSource& source, EvidenceSink sink)
      : env_(env), plan_(plan), source_(source), expected_(source.ranks().begin(), source.ranks().end()), sink_(sink) {}

  void Run() {
    auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source_.list()));
    if (!matches.ok()) return Fail(source_.list(), matches.status());
    if (matches->empty()) {
      return Emit(
          ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, source_.list(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
    }
    for (const PathMatch& match : *matches) {
      if (match.captures.rank && !Expected(*match.captures.rank)) continue;
      ReadOne(match);
    }
    for (std::int32_t rank : expected_) {
      if (!seen_.contains(rank)) EmitMissingRank(rank);
    }
  }

 private:
  bool Expected(std::int32_t rank) const { return expected_.empty() || expected_.contains(rank); }

  void ReadOne(const PathMatch& match) {
    // Seen even when it cannot be read: that is reported by itself.
    if (match.captures.rank) seen_.insert(*match.captures.rank);
    auto bytes = ReadShardBytes(env_.fs, match.path);
    if (!bytes.ok()) return Fail(match.path, bytes.status(), match.captures.rank);
    auto lists = ReadShardFile(*bytes);
    if (lists.status().code() == absl::StatusCode::kFailedPrecondition) {
      return Emit(ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, match.path, v1::OUTCOME_FAILED, "source_stand_in",
                                  lists.status().message()),
                  match.captures.rank);
    }
    if (!lists.ok()) return Fail(match.path, lists.status(), match.captures.rank);
    for (v1::ShardList& list : *lists) EmitList(match, std::move(list));
  }

  void EmitList(const PathMatch& match, v1::ShardList list) {
    const PathCaptures& name = match.captures;
    if (name.rank && list.has_rank() && *name.rank != list.rank()) {
      v1::Problem& problem = *list.add_incomplete();
      problem.set_id("shard_rank_conflict");
      (*problem.mutable_args())["name"] = absl::StrCat(*name.rank);
      (*problem.mutable_args())["list"] = absl::StrCat(list.rank());
    } else if (name.rank) {
      list.set_rank(*name.rank);
    } else if (!list.has_rank() && (plan_.info().world_size() == 1 || list.world_size() == 1)) {
      list.set_rank(0);
    }
    if (list.has_rank() && !Expected(list.rank())) return;
    if (list.has_rank()) seen_.insert(list.rank());
    if (name.epoch && !list.has_epoch()) list.set_epoch(*name.epoch);
    if (!name.node.empty()) list.set_node(DisplayBytes(name.node));
    list.set_dataset(source_.dataset());
    NoteDatasetRole(plan_, source_.dataset(), list);
    v1::Evidence evidence = CollectedEvidence(v1::EVIDENCE_KIND_SHARDS, match.path);
    if (list.has_rank()) evidence.set_rank(list.rank());
    *evidence.mutable_shards() = std::move(list);
    Emit(std::move(evidence));
  }

  void EmitMissingRank(std::int32_t rank) {
    v1::Evidence evidence =
        ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, source_.list(), v1::OUTCOME_ABSENT, "shard_rank_absent");
    (*evidence.mutable_problem()->mutable_args())["rank"] = absl::StrCat(rank);
    Emit(std::move(evidence), rank);
  }

  void Fail(absl::string_view path, const absl::Status& status, std::optional<std::int32_t> rank = std::nullopt) {
    Emit(ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, path, status), rank);
  }

  void Emit(v1::Evidence evidence, std::optional<std::int32_t> rank = std::nullopt) {
    evidence.set_subject(source_.dataset());
    if (rank) evidence.set_rank(*rank);
    sink_(std::move(evidence));
  }

  const CollectorEnv& env_;
  const v1::Plan& plan_;
  const v1::ShardSource& source_;
  const std::set<std::int32_t> expected_;  // empty: the plan does not say
  std::set<std::int32_t> seen_;
  EvidenceSink sink_;
};

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::ShardSource& source : plan.shards()) {
    if (!source.trace().empty()) {
      CollectShardTrace(env, plan, source, sink);
      continue;
    }
    ShardCollector(env, plan, source, sink).Run();
  }
}

}  // namespace

extern const Collector kShardsCollector;
const Collector kShardsCollector = {"shards", "which rank read which files or samples", &Collect};

}  // namespace paritect
