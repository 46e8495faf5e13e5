#include "formats/logs/machinery/live_steps.h"

#include <algorithm>

namespace paritect {

v1::StepRecord LiveSteps::Settle(const LogRecord& entry, std::size_t place, const std::vector<RestartMarker>& markers,
                                 std::size_t forgotten) {
  StepValues values = entry.values;
  v1::StepRecord record;
  if (values.step_unknown() || !entry.has_step) {
    values.set_step(last_step_);
    values.set_step_unknown(true);
    values.ToProto(record);
    return record;
  }
  LogWriter id = WriterOf(values);
  id.second = std::max(id.second, 0);  // the first engine is named once there is a second one
  Writer& key = writers_[id];
  std::int64_t step = values.step();
  if (entry.step_in_epoch || entry.maybe_in_epoch) {
    if (epoch_ < 0) first_epoch_ = entry.maybe_in_epoch && entry.epoch_index == 1 ? 1 : 0;
    if (entry.epoch_index > epoch_ && epoch_ >= 0) {
      falls_ = falls_ || step <= largest_;
      goes_on_ = goes_on_ || step > largest_;
      length_ = std::max(length_, largest_);
      largest_ = 0;
    }
    epoch_ = entry.epoch_index;
    largest_ = std::max(largest_, step);
    const bool within = falls_ || (entry.step_in_epoch && !(entry.may_go_on && goes_on_));
    if (within) length_ = std::max(length_, entry.steps_per_epoch);
    if (within) step += (entry.epoch_index - first_epoch_) * length_;
  }
  for (const RestartMarker& marker : markers) {
    const bool between = marker.at + forgotten >= key.seen && marker.at <= place && key.seen > 0;
    if (!between || !marker.resume) continue;
    key.offset = step <= 1 && marker.global_step && *marker.global_step > 1 ? *marker.global_step : 0;
  }
  key.seen = forgotten + place + 1;
  key.last = step;
  step += key.offset;
  last_step_ = step;
  values.set_step(step);
  if (values.has_skipped() && entry.skipped_is_total) {
    const std::int64_t total = values.skipped();
    values.set_skipped(total >= key.skipped_total ? total - key.skipped_total : total);
    key.skipped_total = total;
  }
  values.ToProto(record);
  return record;
}

bool LiveSteps::CountsOverflowOf(std::int32_t rank) {
  if (overflow_rank_ < 0 || rank < overflow_rank_) overflow_rank_ = rank;
  return rank == overflow_rank_;
}

}  // namespace paritect
