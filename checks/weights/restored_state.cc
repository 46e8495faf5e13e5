#include "checks/weights/restored_state.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/weights/checkpoints.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// Counters that only grow while a training goes on, by the last component of their name. Sources: torch.optim (step),
// torch.optim.lr_scheduler (last_epoch, _step_count), Megatron-LM (iteration, num_floating_point_operations_so_far,
// consumed_train_samples, num_steps), DeepSpeed (global_steps, global_samples), mindspore.nn.Optimizer (global_step),
// mindspore.train.ModelCheckpoint (epoch_num, step_num).
constexpr absl::string_view kCounters[] = {
    "step",         "last_epoch",  "_step_count", "iteration", "consumed_train_samples", "num_steps",
    "global_steps", "global_step", "step_num",    "epoch_num", "global_samples",         "epoch"};

bool IsCounter(absl::string_view name) {
  const std::size_t dot = name.rfind('.');
  const absl::string_view last = dot == absl::string_view::npos ? name : name.substr(dot + 1);
  return std::find(std::begin(kCounters), std::end(kCounters), last) != std::end(kCounters);
}

std::map<std::string, double> CountersOf(const Checkpoint& checkpoint) {
  std::map<std::string, double> counters;
  for (const v1::Weights* piece : checkpoint.pieces) {
    for (const v1::CheckpointFact& fact : piece->facts()) {
      if (!IsCounter(fact.name())) continue;
      if (fact.value().has_integer()) counters[fact.name()] = static_cast<double>(fact.value().integer());
      if (fact.value().has_number()) counters[fact.name()] = fact.value().number();
    }
  }
  for (const v1::TensorFingerprint* tensor : checkpoint.tensors) {
    const bool scalar = ElementsOf(*tensor) == 1 && tensor->statistics().finite() == 1;
    if (scalar && IsCounter(tensor->name())) counters[tensor->name()] = tensor->statistics().min();
  }
  return counters;
}

// How many tensors of the optimizer hold anything but zeros, of how many.
struct OptimizerState {
  int tensors = 0;
  int filled = 0;
};

OptimizerState OptimizerStateOf(const CheckContext& context, const Checkpoint& checkpoint) {
  OptimizerState state;
  for (const v1::TensorFingerprint* tensor : checkpoint.tensors) {
    if (RoleOf(context, *tensor) != v1::TENSOR_ROLE_OPTIMIZER_STATE || ElementsOf(*tensor) < 2) continue;
    if (!tensor->statistics().has_zero()) continue;
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
