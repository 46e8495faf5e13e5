// A log that is read while it is written: the last record of a rank and engine is given at once, and again where a
// later line adds to it; it is kept for that. Steps and counts: live_steps.h.
#include <algorithm>

#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

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
  std::erase_if(markers_, [&](const RestartMarker& marker) { return marker.at < before; });
  for (RestartMarker& marker : markers_) marker.at = next;
  forgotten_ += before - next;
}

v1::RunLog RunLogBuilder::LiveAbout() const {
  v1::RunLog about = log_;
  NoteLossParts(about);
  v1::RunEnd& end = *about.mutable_end();
  if (total_steps_ > 0) end.set_total_steps(total_steps_);
  std::int64_t last = live_.last_step();
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
    const auto last = last_of_.find(WriterOf(values));
    if (!values.step_unknown() && last != last_of_.end() && last->second == i) {
      kept.push_back(i);
      continue;
    }
    if (values.step_unknown() && values.overflow() &&
        values.has_rank()) {  // ranks print one overflow each: the lowest counts
      if (!live_.CountsOverflowOf(values.rank())) continue;
    }
    v1::StepRecord record = live_.Settle(entries_[i], i, markers_, forgotten_);
    if (!entries_[i].taken && !entries_[i].repeats) taken.push_back(std::move(record));
  }
  LiveSteps ahead = live_;
  for (const std::size_t i : kept) {
    v1::StepRecord record = ahead.Settle(entries_[i], i, markers_, forgotten_);
    if (!entries_[i].taken && !entries_[i].repeats) taken.push_back(std::move(record));
    entries_[i].taken = true;
  }
  ForgetTaken(kept);
  return taken;
}

}  // namespace paritect
