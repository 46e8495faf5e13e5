// Lines that name no step or share one: what an evaluation gave, means over an epoch, several forms of one step.
#include <algorithm>
#include <cmath>
#include <set>

#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

// The last record of its rank; where the line has no rank, the last one of all.
bool RunLogBuilder::FoldIntoLast(LogRecord& record) {
  auto last = last_added_;
  if (record.values.has_rank()) last = last_of_.find(WriterOf(record.values));
  if (last == last_of_.end()) return false;
  LogRecord& before = entries_[last->second];
  const double told = std::max(before.accuracy_resolution, record.accuracy_resolution);
  const bool same = before.values.has_accuracy() && record.values.has_accuracy() &&
                    !before.values.accuracy_of_training() &&
                    std::fabs(before.values.accuracy() - record.values.accuracy()) <= told * 1.01;
  if (same) record.values.clear_accuracy();  // the same result with other digits
  if (before.values.has_epoch()) record.values.clear_epoch();
  if (!FoldRecord(record.values, before.values)) return false;
  if (record.values.has_accuracy()) before.accuracy_resolution = record.accuracy_resolution;
  before.taken = false;
  return true;
}

void RunLogBuilder::AddWithoutStep(LogRecord record) {
  const double epoch = record.values.epoch();
  if (!has_steps_ && record.values.has_epoch() && std::fabs(epoch) < 9e15 && epoch == std::floor(epoch)) {
    record.has_step = true;
    record.by_epoch = true;
    has_by_epoch_ = true;
    record.values.set_step(static_cast<std::int64_t>(epoch));
    return Add(std::move(record));
  }
  if (!record.has_result) return;
  // A mean over the epoch is no loss of a step.
  record.values.drop_loss();
  if (FoldIntoLast(record)) return;
  record.values.set_step_unknown(true);
  has_unknown_steps_ = true;
  entries_.push_back(std::move(record));
  if (entries_.size() >= thin_at_) Thin();
}

namespace {

// Many losses within each epoch are its batches, which no line numbers. Lines of ranks without a prefix come a few
// times an epoch.
bool TellsBatchesByEpoch(const RecordList<LogRecord>& entries) {
  constexpr std::size_t kBatchesMin = 20;
  std::size_t losses = 0;
  std::set<std::int64_t> epochs;
  for (const LogRecord& entry : entries) {
    if (!entry.values.has_loss() || entry.repeats) continue;
    ++losses;
    epochs.insert(entry.values.step());
  }
  return !epochs.empty() && losses >= kBatchesMin * epochs.size();
}

void NumberBatchesByOrder(RecordList<LogRecord>& entries) {
  std::int64_t step = 0;
  for (LogRecord& entry : entries) {
    if (!entry.by_epoch) continue;
    entry.repeats = false;
    entry.has_step = entry.values.has_loss();
    entry.values.set_step_unknown(!entry.has_step);
    if (entry.has_step) entry.values.set_step(++step);
  }
}

}  // namespace

// Where other lines name steps, those that go by their epoch are evaluations by their order alone.
void RunLogBuilder::DecideByEpoch() {
  if (!has_by_epoch_) return;
  if (!has_steps_ && TellsBatchesByEpoch(entries_)) {
    NumberBatchesByOrder(entries_);
    has_unknown_steps_ = true;
    only_grows_ = false;
    return set_steps_by_order(entries_[0].values.line());
  }
  if (!has_steps_) return AddNote("step_is_epoch", 0, "lines name no step; the epoch stands for it");
  has_unknown_steps_ = true;
  only_grows_ = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    LogRecord& entry = entries_[i];
    if (!entry.by_epoch) continue;
    entry.has_step = false;
    entry.values.drop_loss();
    entry.values.set_step_unknown(true);
    dropped_[i] = !entry.has_result;
  }
}

}  // namespace paritect
