#include "checks/weights/synchronisation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/weights/replica_groups.h"

namespace paritect {
namespace {

enum class State { kUnknown, kAlike, kSomeDiffer, kAllDiffer };

// Of the replicas' parameters at one step, over all groups.
State StateOf(const Profile& profile, const ReplicaGroups& groups) {
  if (groups.groups.empty() || groups.layout_unknown) return State::kUnknown;
  int split = 0, all = 0;
  for (const ReplicaGroup& group : groups.groups) {
    split += group.split_parameters();
    all += group.parameters;
  }
  if (all == 0) return State::kUnknown;
  if (split == 0) return State::kAlike;
  return split >= profile.threshold("replicas_apart") * all ? State::kAllDiffer : State::kSomeDiffer;
}

// Whether a lone rank differs: that one is out of step, and the others do exchange gradients.
const SplitTensor* LoneRank(const ReplicaGroups& groups) {
  for (const ReplicaGroup& group : groups.groups) {
    for (const SplitTensor& tensor : group.split) {
      if (tensor.role == v1::TENSOR_ROLE_PARAMETER) return tensor.odd_one_out() ? &tensor : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

bool JudgeSynchronisation(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run) {
  for (const RunCheckpoints& checkpoints : CheckpointsOf(context, side)) {
    if (checkpoints.run.name != run.name) continue;
    const std::vector<std::int64_t> steps = checkpoints.Steps();
    State before = State::kUnknown;
    for (const std::int64_t step : steps) {
      const ReplicaGroups groups = GroupReplicas(context, checkpoints, step);
      const State now = StateOf(context.profile, groups);
      const MessageArgs args = {{"run", run.name}, {"step", absl::StrCat(step)}};
      if (step > 0 && now == State::kAlike) {
        AddNote(context, result, "measured/synchronised", run.name, args);
        return true;
      }
      if (step > 0 && now == State::kAllDiffer && before == State::kAlike) {
        const SplitTensor* lone = LoneRank(groups);
        MessageArgs of_rank = args;
        of_rank.emplace_back("rank", lone == nullptr ? "" : RanksText(lone->clusters[1]));
        v1::Finding& finding = AddError(
            context, result, lone == nullptr ? "gradients_not_synchronised" : "gradients_not_synchronised/rank",
            run.name, of_rank);
        SetFact(finding, "step", step);
        SetFact(finding, "replicas", static_cast<std::uint64_t>(groups.groups.front().ranks.size()));
        SetFact(finding, "tensors_that_differ", groups.groups.front().split_parameters());
        return false;
      }
      if (now != State::kUnknown) before = now;
    }
  }
  return false;
}

}  // namespace paritect
