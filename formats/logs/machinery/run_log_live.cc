// A log that is read while it is written: what Build settles over all records is settled record by record here.
//
// The last record of a rank and engine is given at once, and again where a later line adds to it; it is kept for that.
// A step that counts within its epoch becomes global with the length printed, else with the largest step of an epoch
// that is over.
#include <algorithm>

#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

v1::StepRecord RunLogBuilder::LiveRecord(std::size_t index, LiveState& state) const {
  const LogRecord& entry = entries_[index];
  StepValues values = entry.values;
  v1::StepRecord record;
  if (values.step_unknown() || !entry.has_step) {
    values.set_step(state.last_step);
    values.set_step_unknown(true);
    values.ToProto(record);
    return record;
  }
  Key id = KeyOf(values);
  id.second = std::max(id.second, 0);  // the first engine is named once there is a second one
  LiveKey& key = state.keys[id];
  std::int64_t step = values.step();
  if (entry.step_in_epoch || entry.maybe_in_epoch) {
    if (state.epoch < 0) state.first_epoch = entry.maybe_in_epoch && entry.epoch_index == 1 ? 1 : 0;
    if (entry.epoch_index > state.epoch && state.epoch >= 0) {
      state.falls = state.falls || step <= state.largest;
      state.length = std::max(state.length, state.largest);
      state.largest = 0;
    }
    state.epoch = entry.epoch_index;
    state.largest = std::max(state.largest, step);
    const bool within = entry.step_in_epoch || state.falls;
    if (within) state.length = std::max(state.length, entry.steps_per_epoch);
    if (within) step += (entry.epoch_index - state.first_epoch) * state.length;
  }
  for (const Marker& marker : markers_) {
    const bool between = marker.at + forgotten_ >= key.seen && marker.at <= index && key.seen > 0;
    if (!between || !marker.resume) continue;
    key.offset = step <= 1 && marker.global_step && *marker.global_step > 1 ? *marker.global_step : 0;
  }
  key.seen = forgotten_ + index + 1;
  key.last = step;
  step += key.offset;
  state.last_step = step;
  values.set_step(step);
  if (values.has_skipped() && entry.skipped_is_total) {
    const std::int64_t total = values.skipped();
    values.set_skipped(total >= key.skipped_total ? total - key.skipped_total : total);
    key.skipped_total = total;
  }
  values.ToProto(record);
  return record;
}

void RunLogBuilder::ForgetTaken(const std::vector<std::size_t>& kept) {
  const std::size_t before = entries_.size();
  std::vector<std::size_t> moved_to(before + 1, 0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < before; ++i) {
    moved_to[i] = next;
    if (next >= kept.size() || kept[next] != i) continue;
    if (next != i) entries_[next] = std::move(entries_[i]);
    ++next;
  }
  moved_to[before] = next;
  entries_.Shrink(next);
  missing_loss_.Forget();
  for (auto& [key, at] : last_of_) at = moved_to[at];
  // A marker that stands before a record to come.
  std::erase_if(markers_, [&](const Marker& marker) { return marker.at < before; });
  for (Marker& marker : markers_) marker.at = next;
  forgotten_ += before - next;
}

v1::RunLog RunLogBuilder::LiveAbout() const {
  v1::RunLog about = log_;
  v1::RunEnd& end = *about.mutable_end();
  if (total_steps_ > 0) end.set_total_steps(total_steps_);
  std::int64_t last = live_.last_step;
  double epoch = 0;
  for (const LogRecord& entry : entries_) {
    epoch = std::max(epoch, entry.values.has_epoch() ? entry.values.epoch() : 0);
    if (entry.has_step) last = std::max(last, entry.values.step());
  }
  const bool reached = (total_steps_ > 0 && last >= total_steps_) ||
                       (total_epochs_ > 0 && epoch + (epochs_from_zero_ ? 1 : 0) >= total_epochs_);
  if (reached && end.state() != v1::RunEnd::STATE_ABORTED) end.set_state(v1::RunEnd::STATE_FINISHED);
  if (end.state() == v1::RunEnd::STATE_UNSPECIFIED && (total_steps_ > 0 || total_epochs_ > 0)) {
    end.set_state(v1::RunEnd::STATE_UNFINISHED);
  }
  return about;
}

std::vector<v1::StepRecord> RunLogBuilder::TakeLive() {
  std::vector<v1::StepRecord> taken;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const StepValues& values = entries_[i].values;
    const auto last = last_of_.find(KeyOf(values));
    if (!values.step_unknown() && last != last_of_.end() && last->second == i) {
      kept.push_back(i);
      continue;
    }
    if (values.step_unknown() && values.overflow() &&
        values.has_rank()) {  // ranks print one overflow each: the lowest counts
      if (live_.overflow_rank < 0 || values.rank() < live_.overflow_rank) live_.overflow_rank = values.rank();
      if (values.rank() > live_.overflow_rank) continue;
    }
    v1::StepRecord record = LiveRecord(i, live_);
    if (!entries_[i].taken && !entries_[i].repeats) taken.push_back(std::move(record));
  }
  LiveState ahead = live_;
  for (const std::size_t i : kept) {
    v1::StepRecord record = LiveRecord(i, ahead);
    if (!entries_[i].taken && !entries_[i].repeats) taken.push_back(std::move(record));
    entries_[i].taken = true;
  }
  ForgetTaken(kept);
  return taken;
}

}  // namespace paritect
