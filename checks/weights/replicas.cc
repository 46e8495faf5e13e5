// training.flow.replicas: do the ranks of one data-parallel group hold the same weights and buffers?
// Source: pre-tuning checklist, 训练流程：与基准一致 (多卡权重一致); of three or more replicas the odd one out is the
// damaged one (majority).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/finding_budget.h"
#include "checks/observed/conduct.h"
#include "checks/settings/world_size.h"
#include "checks/weights/replica_groups.h"
#include "checks/weights/tensor_comparison.h"

namespace paritect {
namespace {

// "{0, 1} {2}"
template <typename Member>
std::string ClustersText(const std::vector<std::vector<Member>>& clusters) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(clusters.size(), kShown); ++i) {
    absl::StrAppend(&text, text.empty() ? "{" : " {", absl::StrJoin(clusters[i], ", "), "}");
  }
  return text;
}

std::string ClustersText(const SplitTensor& tensor) {
  return ClustersText(tensor.clusters);
}

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}
  ~Judge() { budget_.Finish(); }

  void Run(const RunCheckpoints& run) {
    if (IsOneProcess(context_, run.run)) {
      AddNote(context_, result_, "not_applicable", run.run.name, {{"why", "1 process"}});
      return;
    }
    bool any = false;
    const int world = WorldSizesOf(context_, run.side, run.run).largest();
    for (const std::int64_t step : run.Steps()) {
      const ReplicaGroups groups = GroupReplicas(context_, run, step);
      // One rank that writes for all is no replica; of replicas each has to be seen.
      if (!groups.groups.empty() && groups.ranks < world) {
        AddMissing(context_, result_, "replica_ranks_missing", run.run.name,
                   {{"run", run.run.name},
                    {"step", absl::StrCat(step)},
                    {"found", absl::StrCat(groups.ranks)},
                    {"world", absl::StrCat(world)}});
      }
      for (const ReplicaGroup& group : groups.groups) any = true, Group(run, step, groups, group);
      for (const std::int32_t rank : groups.incomplete) {
        AddMissing(context_, result_, "checkpoint_incomplete", absl::StrCat("rank ", rank, " of ", run.run.name));
      }
      for (const SplitCopies& copies : FindSplitCopies(context_, run, step)) Copies(run, step, copies);
    }
    if (!any) AddMissing(context_, result_, "replicas_not_recorded", run.run.name, {{"run", run.run.name}});
  }

 private:
  void Group(const RunCheckpoints& run, std::int64_t step, const ReplicaGroups& groups, const ReplicaGroup& group) {
    args_ = {{"run", run.run.name}, {"step", absl::StrCat(step)}};
    if (groups.layout_unknown) {
      AddMissing(context_, result_, "layout_not_known", run.run.name, args_);
      return;
    }
    if (!group.lacking.empty()) {
      MessageArgs args = args_;
      args.emplace_back("count", absl::StrCat(group.lacking.size()));
      args.emplace_back("tensor", group.lacking.front());
      AddMissing(context_, result_, "replica_lacks_tensors", run.run.name, args);
    }
    if (!group.experts.empty()) {
      MessageArgs args = args_;
      args.emplace_back("count", absl::StrCat(group.experts.size()));
      args.emplace_back("tensor", group.experts.front());
      AddMissing(context_, result_, "replica_experts_differ", run.run.name, args);
    }
    int counted = 0;
    for (const SplitTensor& tensor : group.split) {
      // Each rank's batches move its running statistics until the next broadcast.
      if (tensor.role == v1::TENSOR_ROLE_BUFFER && step > 0) {
        MessageArgs args = args_;
        args.emplace_back("ranks", ClustersText(tensor));
        budget_.Add(v1::SEVERITY_NOTE, "buffers_differ", tensor.name, args);
        continue;
      }
      ++counted;
      Tensor(run, group, tensor);
    }
    MessageArgs args = args_;
    args.emplace_back("count", absl::StrCat(group.tensors - counted));
    args.emplace_back("ranks", absl::StrCat(group.ranks.size()));
    if (counted == 0) AddNote(context_, result_, "measured/replicas", run.run.name, args);
  }

  void Copies(const RunCheckpoints& run, std::int64_t step, const SplitCopies& copies) {
    const std::string ranks = ClustersText(copies.holders);
    // What devices add up in no fixed order is not the same to the last bit after a step; at the start it is.
    const bool rounding =
        step > 0 && copies.distance.has_value() && *copies.distance <= context_.profile.threshold("copies_apart");
    v1::Finding* finding =
        budget_.Add(rounding ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, "replicas_differ/tensor_parallel",
                    copies.name, {{"run", run.run.name}, {"step", absl::StrCat(step)}, {"ranks", ranks}});
    if (finding == nullptr) return;
    if (copies.distance.has_value()) SetFact(*finding, "relative_l2", *copies.distance);
    SetSide(run.side, ranks, *finding);
    SetFact(*finding, "step", absl::StrCat(step));
  }

  void Tensor(const RunCheckpoints& run, const ReplicaGroup& group, const SplitTensor& tensor) {
    MessageArgs args = args_;
    args.emplace_back("ranks", ClustersText(tensor));
    if (v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "replicas_differ", tensor.name, args)) {
      SetSide(run.side, ClustersText(tensor), *finding);
      SetFact(*finding, "step", args_[1].second);
    }
    // A rank that differs everywhere trains by itself; one that differs in few tensors holds damaged ones.
    if (!tensor.odd_one_out() || 2 * static_cast<int>(group.split.size()) > group.tensors + 1) return;
    Corrupted(run, group, tensor);
  }

  void Corrupted(const RunCheckpoints& run, const ReplicaGroup& group, const SplitTensor& tensor) {
    const std::int32_t odd = tensor.clusters[1][0];
    const v1::TensorFingerprint* good = group.Find(tensor.clusters[0][0], tensor.name);
    const v1::TensorFingerprint* bad = group.Find(odd, tensor.name);
    if (good == nullptr || bad == nullptr) return;
    const DifferencePlace place = PlaceOf(*good, *bad);
    MessageArgs args = args_;
    args.emplace_back("rank", absl::StrCat(odd));
    args.emplace_back("others", absl::StrCat(tensor.clusters[0].size()));
    args.emplace_back("tensor", tensor.name);
    absl::string_view id = "replica_corrupted";
    if (place.word.has_value()) {
      id = place.one_bit ? "replica_corrupted/bit" : "replica_corrupted/element";
      args.emplace_back("element", ElementText(*good, *place.word, place.word_bytes));
    } else if (!place.chunks.empty()) {
      id = "replica_corrupted/part";
      args.emplace_back("part", absl::StrCat(place.chunks.front()));
      args.emplace_back("parts", absl::StrCat(place.chunks.size()));
    }
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, id, tensor.name, args);
    if (finding == nullptr) return;
    SetSide(run.side, absl::StrCat("rank ", odd), *finding);
    SetFact(*finding, "rank", odd);
    for (const auto& [name, value] : args) {
      if (name == "element" || name == "part") SetFact(*finding, name, value);
    }
  }

  static void SetSide(Side side, std::string text, v1::Finding& finding) {
    (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = std::move(text);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  MessageArgs args_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  if (IsOneProcess(context, v1::EVIDENCE_KIND_WEIGHTS, result)) return;
  for (const Side side : kBothSides) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_WEIGHTS);
  Judge judge(context, result);
  for (const Side side : kBothSides) {
    for (const RunCheckpoints& run : CheckpointsOf(context, side)) judge.Run(run);
  }
}

}  // namespace

extern const Check kFlowReplicas;
const Check kFlowReplicas = {"training.flow.replicas", {}, &Evaluate};

}  // namespace paritect
