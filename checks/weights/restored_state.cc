#include "checks/weights/restored_state.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/weights/checkpoints.h"
#include "checks/weights/counters.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// How many tensors of the optimizer hold anything but zeros, of how many, and the first that holds no numbers.
struct OptimizerState {
  int tensors = 0;
  int filled = 0;
  std::string not_finite;
};

OptimizerState OptimizerStateOf(const CheckContext& context, const Checkpoint& checkpoint) {
  OptimizerState state;
  for (const v1::TensorFingerprint* tensor : checkpoint.tensors) {
    if (RoleOf(context, *tensor) != v1::TENSOR_ROLE_OPTIMIZER_STATE || ElementsOf(*tensor) < 2) continue;
    const v1::TensorStatistics& all = tensor->statistics();
    if (all.nan() + all.positive_infinity() + all.negative_infinity() > 0 && state.not_finite.empty()) {
      state.not_finite = tensor->name();
    }
    if (!all.has_zero()) continue;
    ++state.tensors;
    state.filled += tensor->statistics().zero() < ElementsOf(*tensor) ? 1 : 0;
  }
  return state;
}

// Two states of one rank, one after the other.
void Succession(const CheckContext& context, v1::CheckResult& result, const RunView& run, const Checkpoint& before,
                const Checkpoint& after) {
  const MessageArgs args = {
      {"run", run.name}, {"step", absl::StrCat(after.step)}, {"before", absl::StrCat(before.step)}};
  const auto report = [&](absl::string_view id, const std::string& subject, const MessageArgs& more) {
    MessageArgs all = args;
    all.insert(all.end(), more.begin(), more.end());
    v1::Finding& finding = AddError(context, result, id, subject, all);
    finding.add_evidence(before.sources.front());
    finding.add_evidence(after.sources.front());
  };
  const std::map<std::string, double> earlier = CountersOf(before);
  for (const auto& [name, value] : CountersOf(after)) {
    const auto stood = earlier.find(name);
    if (stood == earlier.end() || value >= stood->second) continue;
    report("counter_restarted", name,
           {{"name", name}, {"a", FormatShort(stood->second, 10)}, {"b", FormatShort(value, 10)}});
    return;  // they all begin anew together
  }
  const OptimizerState had = OptimizerStateOf(context, before), has = OptimizerStateOf(context, after);
  // Whatever is computed from it is no number either.
  if (!has.not_finite.empty() && had.not_finite.empty()) {
    report("optimizer_state_not_finite", has.not_finite, {{"tensor", has.not_finite}});
  }
  // A checkpoint that leaves it out is of no use to a resume; whether one was made of it is not told.
  if (had.tensors > 0 && has.tensors == 0) {
    AddWarning(context, result, "optimizer_state_not_kept", run.name, args).add_evidence(after.sources.front());
  }
  if (had.filled > 0 && has.tensors > 0 && has.filled == 0) {
    report("optimizer_state_empty", run.name, {{"count", absl::StrCat(has.tensors)}});
  }
}

}  // namespace

void CheckRestoredState(const CheckContext& context, v1::CheckResult& result, Side side) {
  for (const RunCheckpoints& run : CheckpointsOf(context, side)) {
    std::map<std::pair<std::string, std::int32_t>, const Checkpoint*> last;  // by node and rank
    for (const Checkpoint& one : run.all) {
      if (one.pretrained()) continue;
      const Checkpoint*& before = last[{one.rank.has_value() ? "" : one.node, one.rank.value_or(-1)}];
      if (before != nullptr && before->step < one.step) Succession(context, result, run.run, *before, one);
      before = &one;
    }
  }
}

}  // namespace paritect
