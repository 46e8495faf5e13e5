// A log may hold more records than memory: then the printed intervals are widened to every second, every fourth ...
// one. Which ones stay depends on the step alone, so that the logs of two sides keep the same steps. Records that tell
// of an overflow, an evaluation, a refused number or one that is not finite, and spikes of one step, stay unless there
// are too many of them (of those that are not finite, the beginnings of every second row of them are left then, and
// each writer's first); the skipped steps of a record that goes are added to the next that stays.
#include <algorithm>
#include <cmath>

#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {
namespace {

// A step of training that its reader numbers when all is read: until then its step is its place among its like.
bool IsNumberedLater(const LogRecord& entry) {
  const StepValues& record = entry.values;
  return !entry.has_step && !entry.by_epoch && !record.step_unknown() && record.step() > 0 &&
         (record.has_loss() || record.has_grad_norm());
}

// What no neighbour tells in its place.
bool HoldsNonFinite(const StepValues& record) {
  const auto& metrics = record.metrics().entries();
  return !std::isfinite(record.loss()) || !std::isfinite(record.grad_norm()) || !std::isfinite(record.eval_loss()) ||
         !std::isfinite(record.loss_scale()) || !std::isfinite(record.lr()) ||
         std::any_of(metrics.begin(), metrics.end(), [](const auto& one) { return !std::isfinite(one.second); });
}

// Where the non-finite numbers of each writer begin, over the records in their order.
class NonFiniteRows {
 public:
  // Whether this record has to stay for what is not finite in it.
  bool Stays(const LogRecord& entry, bool all) {
    const bool non_finite = HoldsNonFinite(entry.values);
    Row& row = of_[WriterOf(entry.values)];
    const bool begins = non_finite && !row.goes_on;
    row.goes_on = non_finite;
    if (!all) return non_finite;
    return begins && row.before++ % 2 == 0;
  }

 private:
  struct Row {
    bool goes_on = false;
    std::size_t before = 0;  // rows of this writer
  };
  std::map<LogWriter, Row> of_;
};

// A loss or a norm of one step that is far above the one before and the one behind, which tell nothing of it.
bool IsSpike(const StepValues& before, const StepValues& record, const StepValues& behind) {
  constexpr double kFar = 3;
  const auto is_above = [](double value, double one, double other) {
    return value > kFar * std::max(std::fabs(one), std::fabs(other));
  };
  return is_above(record.loss(), before.loss(), behind.loss()) ||
         is_above(record.grad_norm(), before.grad_norm(), behind.grad_norm());
}

// The spikes among all records, looked for before any of them goes.
std::vector<bool> FindSpikes(const RecordList<LogRecord>& entries) {
  std::vector<bool> spikes(entries.size(), false);
  const auto tells = [](const StepValues& one) { return one.has_loss() || one.has_grad_norm(); };
  for (std::size_t i = 1; i + 1 < entries.size(); ++i) {
    const StepValues& before = entries[i - 1].values;
    const StepValues& record = entries[i].values;
    const StepValues& behind = entries[i + 1].values;
    const bool alike = tells(before) && tells(behind) && before.has_loss() == record.has_loss() &&
                       behind.has_loss() == record.has_loss() && before.has_grad_norm() == record.has_grad_norm() &&
                       behind.has_grad_norm() == record.has_grad_norm();
    spikes[i] = alike && IsSpike(before, record, behind);
  }
  return spikes;
}

bool MayGo(const LogRecord& entry, bool all) {
  const StepValues& record = entry.values;
  // The first of those to be numbered tells whether a run logged its first step apart.
  if (IsNumberedLater(entry) && record.step() == 1) return false;
  const bool has_place = entry.has_step || IsNumberedLater(entry);
  if (all) return has_place && !record.overflow();
  return has_place && !record.overflow() && !record.has_eval_loss() && !record.has_accuracy() &&
         !record.loss_absent() && !entry.stays;
}

}  // namespace

void RunLogBuilder::Thin() {
  std::int64_t interval = 0;  // the smallest distance of two printed steps
  for (std::size_t i = 1; i < std::min<std::size_t>(entries_.size(), 1000); ++i) {
    const std::int64_t distance = entries_[i].values.step() - entries_[i - 1].values.step();
    if (distance > 0 && (interval == 0 || distance < interval)) interval = distance;
  }
  // The first records are thinned already, but for the very first thinning.
  interval = std::max<std::int64_t>(interval, 1);
  if (kept_stride_ > 1) interval = std::max<std::int64_t>(interval / kept_stride_, 1);
  kept_stride_ *= 2;
  std::map<Key, std::int64_t> owed;
  NonFiniteRows rows;
  const std::vector<bool> spikes = thins_all_ ? std::vector<bool>(entries_.size(), false) : FindSpikes(entries_);
  std::size_t without_place = 0;
  std::vector<std::size_t> moved_to(entries_.size() + 1, 0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    moved_to[i] = kept;
    LogRecord& entry = entries_[i];
    const bool stays = rows.Stays(entry, thins_all_) || spikes[i] || i + 1 == entries_.size();
    bool goes = !stays && MayGo(entry, thins_all_) && (entry.values.step() / interval) % kept_stride_ != 0;
    // Evaluations that tell no step have their order alone: every second one.
    if (thins_all_ && !stays && entry.values.step_unknown() && !entry.values.overflow()) {
      goes = ++without_place % 2 == 0;
    }
    if (goes) {
      if (!entry.skipped_is_total) owed[WriterOf(entry.values)] += entry.values.skipped();
      continue;
    }
    auto debt = owed.find(WriterOf(entry.values));
    if (entry.has_step && !entry.skipped_is_total && debt != owed.end() && debt->second > 0) {
      entry.values.set_skipped(entry.values.skipped() + debt->second);
      debt->second = 0;
    }
    if (kept != i) entries_[kept] = std::move(entry);
    ++kept;
  }
  moved_to[entries_.size()] = kept;
  if (kept == entries_.size()) kept_stride_ /= 2;  // nothing could go
  entries_.Shrink(kept);
  missing_loss_.Forget();
  for (RestartMarker& marker : markers_) marker.at = moved_to[std::min(marker.at, moved_to.size() - 1)];
  last_of_.clear();
  last_added_ = last_of_.end();
  for (std::size_t i = 0; i < kept; ++i) {
    if (!entries_[i].values.step_unknown() && !entries_[i].beside) last_of_[WriterOf(entries_[i].values)] = i;
  }
  thins_all_ = thins_all_ || kept > kLogRecordsMax / 4 * 3;
  // Records that may not go do not make every new one search again.
  thin_at_ = std::max(kLogRecordsMax, 2 * kept);
}

}  // namespace paritect
