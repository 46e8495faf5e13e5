#include "formats/logs/machinery/run_log_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/segment_merger.h"

namespace paritect {
namespace {

constexpr int kNotesOfOneKindMax = 50;
constexpr int kUnparsedListedMax = 100;

}  // namespace

void RunLogBuilder::NoteKind(const LogRecord& record, const Key& key) {
  has_in_epoch_ = has_in_epoch_ || record.step_in_epoch;
  has_unknown_steps_ = has_unknown_steps_ || record.values.step_unknown();
  has_maybe_in_epoch_ = has_maybe_in_epoch_ || record.maybe_in_epoch;
  has_skipped_ = has_skipped_ || record.values.has_skipped();
  has_skipped_totals_ = has_skipped_totals_ || record.skipped_is_total;
  if (!only_grows_) return;
  const std::int64_t step = record.values.step();
  const bool first = entries_.empty();
  only_grows_ = record.has_step && !record.step_in_epoch && !record.maybe_in_epoch &&
                (first || (key == only_key_ && step > last_step_));
  if (first) only_key_ = key;
  last_step_ = step;
}

// Marks the record, and those before it of which it tells, where their loss is missing.
void RunLogBuilder::LookForLoss(const Key& key, std::size_t at, StepValues& record) {
  const MissingLoss::Change change = missing_loss_.Look(key, at, record);
  if (!change.any()) return;
  for (const bool lost : {true, false}) {
    for (const MissingLoss::Place& place : lost ? change.lost : change.found) {
      if (place.at >= entries_.size() || entries_[place.at].values.line() != place.line) continue;
      StepValues& before = entries_[place.at].values;
      before.set_loss_absent(lost && !before.has_loss());
      entries_[place.at].taken = false;
    }
  }
}

void RunLogBuilder::SettleLoss(StepValues& record) {
  if (loss_parts_.Take(record) && !entries_.empty()) {
    missing_loss_ = {};  // it learnt from losses that are none
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      LogRecord& entry = entries_[i];
      if (entry.beside || entry.second_result || entry.values.step_unknown()) continue;
      const bool had = entry.values.has_loss();
      loss_parts_.Settle(entry.values);
      entry.taken = entry.taken && had == entry.values.has_loss();
      LookForLoss(WriterOf(entry.values), i, entry.values);
    }
  }
  loss_parts_.Settle(record);
}

bool RunLogBuilder::AddBeforeFirst(LogRecord record) {
  if (entries_.size() != 1 || forgotten_ > 0 || !markers_.empty()) return false;
  LogRecord first = std::move(entries_.back());
  entries_.Shrink(0);
  last_of_.clear();
  last_added_ = last_of_.end();
  only_grows_ = true;
  missing_loss_ = {};
  Add(std::move(record));
  Add(std::move(first));
  return true;
}

void RunLogBuilder::Add(LogRecord record) {
  ReviseEnd(record);
  has_steps_ = has_steps_ || !record.by_epoch;
  if (record.values.has_skipped() && record.values.skipped() < 0) {
    AddNote("number_refused", record.values.line(),
            absl::StrCat("step ", record.values.step(), ": ", record.values.skipped(),
                         " skipped steps are no count; the value is left out"));
    record.values.clear_skipped();
  }
  const Key key = WriterOf(record.values);
  SettleLoss(record.values);
  LookForLoss(key, entries_.size(), record.values);
  auto last = last_added_ != last_of_.end() && last_added_->first == key ? last_added_ : last_of_.find(key);
  if (last != last_of_.end()) {
    LogRecord& before = entries_[last->second];
    const bool same_step = before.has_step == record.has_step && before.values.step() == record.values.step() &&
                           before.step_in_epoch == record.step_in_epoch && before.epoch_index == record.epoch_index &&
                           (record.has_step || (before.values.has_epoch() && record.values.has_epoch()));
    const bool marker_between = !markers_.empty() && markers_.back().at > last->second;
    const bool both_losses = before.values.has_loss() && record.values.has_loss();
    if (same_step && !marker_between && both_losses) {
      StepValues trial = before.values;
      record.repeats = FoldRecord(record.values, trial);
      // The same line once more and with more on it (Keras draws the last bar of an epoch again with its validation).
      if (record.repeats && trial.count() > before.values.count()) {
        before.values = std::move(trial);
        before.taken = false;
        return;
      }
    } else if (same_step && !marker_between && FoldRecord(record.values, before.values)) {
      loss_parts_.Settle(before.values);
      before.skipped_is_total = before.skipped_is_total || record.skipped_is_total;
      has_skipped_ = has_skipped_ || before.values.has_skipped();
      has_skipped_totals_ = has_skipped_totals_ || before.skipped_is_total;
      before.taken = false;
      return;
    } else if (same_step && record.has_step && !marker_between && record.values.of_evaluation_alone()) {
      record.second_result = true;  // the step stays what it is
      entries_.push_back(std::move(record));
      return;
    }
    last->second = entries_.size();
  } else {
    last = last_of_.emplace(key, entries_.size()).first;
  }
  last_added_ = last;
  NoteKind(record, key);
  entries_.push_back(std::move(record));
  if (entries_.size() >= thin_at_) Thin();
}

void RunLogBuilder::Resume(std::int64_t line, std::optional<std::int64_t> global_step) {
  told_iterations_.clear();
  // Several lines tell of one restart; the one that knows the step counts.
  if (!markers_.empty() && markers_.back().at == entries_.size() && markers_.back().resume) {
    if (!markers_.back().global_step) markers_.back().global_step = global_step;
    return;
  }
  markers_.push_back({entries_.size(), true, global_step, line});
}

void RunLogBuilder::Banner(std::int64_t line) {
  if (!markers_.empty() && markers_.back().at == entries_.size() && !markers_.back().resume) return;
  markers_.push_back({entries_.size(), false, std::nullopt, line});
}

void RunLogBuilder::AddNote(absl::string_view kind, std::int64_t line, std::string message) {
  if (++note_counts_[std::string(kind)] > kNotesOfOneKindMax) return;
  v1::Note& note = *log_.add_notes();
  note.set_kind(std::string(kind));
  note.set_line(line);
  note.set_message(std::move(message));
}

void RunLogBuilder::Unparsed(std::int64_t line, std::string why) {
  log_.set_unparsed_total(log_.unparsed_total() + 1);
  if (log_.unparsed_size() >= kUnparsedListedMax) return;
  v1::UnparsedLine& unparsed = *log_.add_unparsed();
  unparsed.set_line(line);
  unparsed.set_why(std::move(why));
}

void RunLogBuilder::TotalSteps(std::int64_t total) {
  total_steps_ = std::max(total_steps_, total);
}
void RunLogBuilder::TotalEpochs(double total) {
  total_epochs_ = std::max(total_epochs_, total);
}

void RunLogBuilder::AddSettings(v1::SettingsDocument document) {
  if (document.settings().empty()) return;
  *log_.add_settings() = std::move(document);
}

void RunLogBuilder::set_steps_by_order(std::int64_t line) {
  if (note_counts_["steps_by_order"] == 0) {
    AddNote("steps_by_order", line, "the log prints no step: records are numbered in the order in which they stand");
  }
}

void RunLogBuilder::DecideMaybeInEpoch() {
  if (!has_maybe_in_epoch_) return;
  const LogRecord* before = nullptr;
  bool falls = false;
  for (const LogRecord& entry : entries_) {
    if (!entry.maybe_in_epoch) continue;
    falls = falls || (before != nullptr && entry.epoch_index > before->epoch_index &&
                      entry.values.step() <= before->values.step());
    before = &entry;
  }
  if (before == nullptr) return;
  std::int64_t first = before->epoch_index;
  std::int64_t last = before->epoch_index;
  for (const LogRecord& entry : entries_) {
    if (!entry.maybe_in_epoch) continue;
    first = std::min(first, entry.epoch_index);
    last = std::max(last, entry.epoch_index);
  }
  for (LogRecord& entry : entries_) {
    if (!entry.maybe_in_epoch) continue;
    if (first == 1) --entry.epoch_index;  // epochs are counted from 1
    if (falls) entry.step_in_epoch = has_in_epoch_ = true;
    if (!falls && last > first) TotalSteps(entry.steps_per_epoch);
  }
}

void RunLogBuilder::DecideWhetherStepsGoOn() {
  if (!has_in_epoch_) return;
  struct At {
    std::int64_t epoch = 0, step = 0;
  };
  std::map<LogWriter, At> before;
  bool rises = false;
  for (const LogRecord& entry : entries_) {
    if (!entry.step_in_epoch) continue;
    if (!entry.may_go_on) return;
    const At at = {entry.epoch_index, entry.values.step()};
    const auto [last, is_new] = before.try_emplace(WriterOf(entry.values), at);
    if (!is_new && at.epoch > last->second.epoch) {
      if (at.step <= last->second.step) return;
      rises = true;
    }
    last->second = at;
  }
  if (!rises) return;
  for (LogRecord& entry : entries_) {
    if (!entry.step_in_epoch) continue;
    entry.step_in_epoch = false;
    TotalSteps(entry.steps_per_epoch);
  }
  has_in_epoch_ = false;
}

// The length of an epoch is the printed one, else the largest step of an epoch that another one followed.
void RunLogBuilder::ResolveEpochSteps() {
  if (!has_in_epoch_) return;
  std::int64_t length = 0;
  std::map<std::int64_t, std::int64_t> largest;
  bool from_zero = false;
  for (const LogRecord& entry : entries_) {
    if (!entry.step_in_epoch) continue;
    from_zero = from_zero || entry.values.step() == 0;
    length = std::max(length, entry.steps_per_epoch);
    std::int64_t& most = largest[entry.epoch_index];
    most = std::max(most, entry.values.step());
  }
  if (largest.empty()) return;
  if (length == 0) {
    for (auto it = largest.begin(); std::next(it) != largest.end(); ++it) length = std::max(length, it->second);
    if (length > 0 && from_zero) ++length;
  }
  const bool epochs_needed = largest.size() > 1 || largest.begin()->first != 0;
  if (length == 0 && epochs_needed) {
    AddNote("epoch_length_unknown", 0, "steps count within their epoch and its length is not printed");
  }
  for (LogRecord& entry : entries_) {
    if (!entry.step_in_epoch) continue;
    entry.values.set_step(entry.epoch_index * length + entry.values.step());
  }
}

void RunLogBuilder::CountersToDifferences() {
  if (only_grows_ && !has_skipped_totals_ && !has_unknown_steps_) {
    log_.set_skipped_counted(has_skipped_);
    if (has_skipped_) set_overflow_seen();
    return;
  }
  std::map<Key, std::int64_t> before;
  std::int64_t last_step = 0;
  bool counted = false;
  bool last_dropped = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    LogRecord& entry = entries_[i];
    StepValues& record = entry.values;
    if (record.step_unknown()) {
      record.set_step(last_step);
      // What happened among steps that were done again is not of the run that counts.
      if (last_dropped) dropped_[i] = true;
      continue;
    }
    if (entry.has_step) {
      last_step = record.step();
      last_dropped = dropped_[i];
    }
    if (!record.has_skipped() || dropped_[i]) continue;
    counted = true;
    if (!entry.skipped_is_total) continue;
    std::int64_t& total = before[WriterOf(record)];
    const std::int64_t now = record.skipped();
    record.set_skipped(now >= total ? now - total : now);  // a smaller total: the counter began anew
    total = now;
  }
  log_.set_skipped_counted(counted);
  if (counted) set_overflow_seen();
}

void RunLogBuilder::MergeSegments() {
  if (only_grows_ && has_steps_ && markers_.empty()) {
    std::size_t first = 0;
    while (first < entries_.size() && (!entries_[first].has_step || entries_[first].second_result)) ++first;
    if (first == entries_.size()) return;  // thinned to what names no step
    v1::Segment& segment = *log_.add_segments();
    segment.set_first(entries_[first].values.step());
    segment.set_last(last_step_);
    return;
  }
  SegmentMerger merger(
      entries_, markers_, dropped_,
      [this](absl::string_view kind, std::int64_t line, std::string why) { AddNote(kind, line, std::move(why)); });
  for (v1::Segment& segment : merger.Merge()) *log_.add_segments() = std::move(segment);
}

// What the loss was made of, once; a note a term, for runs whose sums are of other terms are not compared.
void RunLogBuilder::NoteLossParts(v1::RunLog& log) const {
  if (!loss_parts_.sums()) return;
  std::int64_t first = 0;
  std::int64_t lacking = 0;
  std::int64_t line = 0;
  for (const LogRecord& entry : entries_) {
    if (!entry.values.loss_of_parts()) continue;
    if (first == 0) first = entry.values.line();
    if (loss_parts_.LacksTerm(entry.values) && lacking++ == 0) line = entry.values.line();
  }
  const auto note = [&](absl::string_view kind, std::int64_t at, std::string message) {
    v1::Note& one = *log.add_notes();
    one.set_kind(std::string(kind));
    one.set_line(at);
    one.set_message(std::move(message));
  };
  note("loss_is_sum", first, "the log prints terms of the loss and not the whole: their sum counts as the loss");
  for (const std::string& term : loss_parts_.terms()) note("loss_term", first, term);
  if (lacking == 0) return;
  note("loss_term_missing", line,
       absl::StrCat(lacking, " steps print some of the terms and not all: they have no loss"));
}

v1::RunLog RunLogBuilder::Build(absl::string_view format) {
  dropped_.assign(entries_.size(), false);
  DecideByEpoch();
  DecideWhetherStepsGoOn();
  DecideMaybeInEpoch();
  ResolveEpochSteps();
  DropValuesOfOtherSteps();
  FoldBeside();
  ResolveRank0Overflows();
  MergeSegments();
  FoldFlaggedOverflows();
  DropImpossibleOverflows();
  CountersToDifferences();
  NoteLossParts(log_);
  log_.set_format(std::string(format));
  log_.mutable_records()->Reserve(static_cast<int>(entries_.size()));
  std::int64_t last = -1;
  double epoch = 0;
  entries_.Consume([&](std::size_t i, const LogRecord& entry) {
    if (dropped_[i]) return;
    const StepValues& values = entry.values;
    if (!values.step_unknown()) last = std::max(last, values.step());
    if (values.has_epoch()) epoch = std::max(epoch, values.epoch());
    values.ToProto(*log_.add_records());
  });
  for (const auto& [kind, count] : note_counts_) {
    if (count <= kNotesOfOneKindMax) continue;
    v1::Note& note = *log_.add_notes();
    note.set_kind(kind);
    note.set_message(absl::StrCat(count, " in all; ", kNotesOfOneKindMax, " are listed"));
  }
  if (kept_stride_ > 1) {
    AddNote(
        "records_thinned", 0,
        absl::StrCat("the log is long: one record in ", kept_stride_, " is kept; counts of skipped steps are whole"));
  }
  FillEnd(last, epoch);
  return std::move(log_);
}

}  // namespace paritect
