#include "common/training_counters.h"

#include <algorithm>
#include <iterator>

namespace paritect {
namespace {

// Sources: torch.optim (step), torch.optim.lr_scheduler (last_epoch, _step_count), Megatron-LM (iteration,
// num_floating_point_operations_so_far, consumed_train_samples, num_steps), DeepSpeed (global_steps, global_samples),
// mindspore.nn.Optimizer (global_step), mindspore.train.ModelCheckpoint (epoch_num, step_num: of an epoch).
constexpr absl::string_view kUpdates[] = {"step", "iteration", "global_steps", "global_step"};
constexpr absl::string_view kOthers[] = {"last_epoch", "_step_count", "consumed_train_samples", "num_steps",
                                         "step_num",   "epoch_num",   "global_samples",         "epoch"};

absl::string_view LastComponent(absl::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

bool IsUpdateCounter(absl::string_view name) {
  return std::find(std::begin(kUpdates), std::end(kUpdates), LastComponent(name)) != std::end(kUpdates);
}

bool IsTrainingCounter(absl::string_view name) {
  return IsUpdateCounter(name) ||
         std::find(std::begin(kOthers), std::end(kOthers), LastComponent(name)) != std::end(kOthers);
}

}  // namespace paritect
