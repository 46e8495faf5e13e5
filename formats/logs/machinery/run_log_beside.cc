// What a counter of another dialect tells beside the curve.
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {
namespace {

// Moves what the curve's record lacks.
void FoldCounter(const LogRecord& counter, LogRecord& into) {
  const StepValues& from = counter.values;
  StepValues& values = into.values;
  if (from.has_skipped() && !values.has_skipped()) {
    values.set_skipped(from.skipped());
    into.skipped_is_total = counter.skipped_is_total;
  }
  if (from.has_lr() && !values.has_lr()) values.set_lr(from.lr());
  if (from.has_loss_scale() && !values.has_loss_scale()) values.set_loss_scale(from.loss_scale());
  if (from.has_overflow() && !values.has_overflow()) values.set_overflow(from.overflow());
  if (from.has_samples() && !values.has_samples()) values.set_samples(from.samples());
  for (const auto& [name, value] : from.metrics().entries()) {
    if (values.metrics().Find(*name) == nullptr) values.mutable_metrics().Set(name, value);
  }
}

}  // namespace

void RunLogBuilder::AddBeside(LogRecord record) {
  ReviseEnd(record);
  record.beside = true;
  has_beside_ = true;
  only_grows_ = false;
  has_skipped_ = has_skipped_ || record.values.has_skipped();
  has_skipped_totals_ = has_skipped_totals_ || record.skipped_is_total;
  entries_.push_back(std::move(record));
  if (entries_.size() >= thin_at_) Thin();
}

// The curve's records next to the counter's line, before it and behind it, are those that may be of its step.
void RunLogBuilder::FoldBeside() {
  if (!has_beside_) return;
  constexpr std::size_t kEntriesAround = 16;
  const auto is_curve = [&](std::size_t i) {
    return entries_[i].has_step && !entries_[i].beside && !entries_[i].second_result && !entries_[i].by_epoch;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    LogRecord& counter = entries_[i];
    if (!counter.beside || counter.values.has_engine()) continue;
    const std::int64_t step = counter.values.step();
    std::optional<std::size_t> same;
    for (std::size_t k = i + 1; k < entries_.size() && k <= i + kEntriesAround && !same; ++k) {
      if (is_curve(k) && entries_[k].values.step() == step) same = k;
      if (is_curve(k) && entries_[k].values.step() > step) break;
    }
    for (std::size_t k = i; k-- > 0 && i - k <= kEntriesAround && !same;) {
      if (is_curve(k) && entries_[k].values.step() == step) same = k;
      if (is_curve(k) && entries_[k].values.step() < step) break;
    }
    if (!same) continue;
    FoldCounter(counter, entries_[*same]);
    dropped_[i] = true;
  }
}

}  // namespace paritect
