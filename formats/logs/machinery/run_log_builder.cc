#include "formats/logs/machinery/run_log_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr int kNotesOfOneKindMax = 50;
constexpr int kUnparsedListedMax = 100;

}  // namespace

RunLogBuilder::Key RunLogBuilder::KeyOf(const StepValues& record) {
  return {record.has_rank() ? record.rank() : -1, record.has_engine() ? record.engine() : -1};
}

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
void RunLogBuilder::LookForLoss(const Key& key, StepValues& record) {
  const MissingLoss::Change change = missing_loss_.Look(key, entries_.size(), record);
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
  const Key key = KeyOf(record.values);
  LookForLoss(key, record.values);
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
    std::int64_t& total = before[KeyOf(record)];
    const std::int64_t now = record.skipped();
    record.set_skipped(now >= total ? now - total : now);  // a smaller total: the counter began anew
    total = now;
  }
  log_.set_skipped_counted(counted);
  if (counted) set_overflow_seen();
}

std::vector<RunLogBuilder::Break> RunLogBuilder::FindBreaks(const std::vector<std::size_t>& indices) const {
  std::vector<Break> breaks;
  std::size_t next_marker = 0;
  std::size_t before = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (entries_[indices[i]].repeats) continue;
    Break found;
    found.at = i;
    for (; next_marker < markers_.size() && markers_[next_marker].at <= indices[i]; ++next_marker) {
      if (i == 0) continue;
      (markers_[next_marker].resume ? found.marker : found.banner) = &markers_[next_marker];
    }
    if (i == 0) continue;
    const std::int64_t step = entries_[indices[i]].values.step();
    const std::int64_t last = entries_[indices[before]].values.step();
    before = i;
    // A step printed twice in a row: where it does not advance on a skipped update. Nothing went back.
    if (step == last && found.marker == nullptr && found.banner == nullptr) continue;
    if (step <= last || (found.marker != nullptr && found.marker->global_step)) breaks.push_back(found);
  }
  return breaks;
}

// Whether two writers fill the file: steps go back again and again, or most of them come twice in a row.
bool RunLogBuilder::IsInterleaved(const std::vector<std::size_t>& indices, std::size_t breaks,
                                  std::size_t& back_or_again) const {
  constexpr std::size_t kTimesMin = 3;
  std::size_t again = 0;
  std::int64_t last = -1;
  for (const std::size_t i : indices) {
    if (entries_[i].repeats) continue;
    again += entries_[i].values.step() == last ? 1 : 0;
    last = entries_[i].values.step();
  }
  back_or_again = breaks + again;
  return (breaks >= kTimesMin && back_or_again * 10 >= indices.size()) ||
         (again >= kTimesMin && again * 4 >= indices.size());
}

void RunLogBuilder::NoteBreak(const Break& at, std::int64_t step, std::int64_t last, std::int64_t offset) {
  const std::int64_t line = at.marker != nullptr ? at.marker->line : at.banner != nullptr ? at.banner->line : 0;
  if (at.marker != nullptr) {
    std::string from = at.marker->global_step ? absl::StrCat(" from global step ", *at.marker->global_step) : "";
    AddNote("resumed", line,
            absl::StrCat("the run goes on", from, ": step ", step, " follows step ", last,
                         offset > 0 ? absl::StrCat("; printed steps count from ", offset) : ""));
  } else if (step <= 1) {
    AddNote("step_reset", line,
            absl::StrCat("the printed step starts again at ", step, " after ", last,
                         "; nothing says where the run goes on"));
  } else {
    AddNote("resumed", line,
            absl::StrCat("step ", step, " follows step ", last, ": the run goes on from an earlier step"));
  }
}

// Steps that only grow, as in most logs: there is nothing to merge.
bool RunLogBuilder::OnlyGrows(const std::vector<std::size_t>& indices, bool main) {
  if (std::any_of(indices.begin(), indices.end(), [&](std::size_t i) { return entries_[i].repeats; })) return false;
  if (!main || indices.empty()) return true;
  v1::Segment& segment = *log_.add_segments();
  segment.set_first(entries_[indices.front()].values.step());
  segment.set_last(entries_[indices.back()].values.step());
  return true;
}

void RunLogBuilder::Replaced::Add(const StepValues& record) {
  ++steps;
  if (record.has_loss() && !std::isfinite(record.loss()) && not_finite++ == 0) first = record;
}

void RunLogBuilder::NoteReplaced(const Replaced& replaced, bool main) {
  if (replaced.not_finite > 0) {
    AddNote("loss_rolled_back", replaced.first.line(),
            absl::StrCat("step ", replaced.first.step(), ": the loss is ", FormatDouble(replaced.first.loss()), " (",
                         replaced.not_finite, " steps); the run went back and did them again"));
  }
  if (!main || replaced.steps == 0) return;
  AddNote("steps_replaced", 0, absl::StrCat(replaced.steps, " steps stand twice; the later ones count"));
}

// `indices`: the records of one rank and engine that have a step, in file order.
void RunLogBuilder::MergeOne(const std::vector<std::size_t>& indices, bool main) {
  const std::vector<Break> breaks = FindBreaks(indices);
  const auto unexplained = static_cast<std::size_t>(std::count_if(
      breaks.begin(), breaks.end(), [](const Break& b) { return b.marker == nullptr && b.banner == nullptr; }));
  std::size_t back_or_again = 0;
  const bool interleaved = IsInterleaved(indices, unexplained, back_or_again);
  if (interleaved && main) {
    const std::size_t at = breaks.empty() ? 0 : breaks[0].at;
    AddNote("interleaved_writers", entries_[indices[at]].values.line(),
            absl::StrCat("steps go back or repeat ", back_or_again, " times in ", indices.size(),
                         " records: two writers in one file; records stand in file order"));
  }
  if (back_or_again == 0 && breaks.empty() && OnlyGrows(indices, main)) return;
  std::map<std::int64_t, std::size_t> by_step;
  std::int64_t offset = 0;
  Replaced replaced;
  bool keep_all = interleaved;
  std::size_t next = 0;
  std::int64_t printed_before = 0;
  v1::Segment segment;
  bool begun = false;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    StepValues& record = entries_[indices[i]].values;
    if (entries_[indices[i]].repeats && !interleaved) {
      dropped_[indices[i]] = true;
      continue;
    }
    const std::int64_t printed = record.step();
    const bool is_break = next < breaks.size() && breaks[next].at == i;
    if (is_break && !interleaved) {
      const Break& at = breaks[next];
      const bool from_start = printed <= 1;
      if (main) *log_.add_segments() = segment;
      segment.Clear();
      begun = false;
      offset = 0;
      if (at.marker != nullptr) {
        const auto resumed = at.marker->global_step;
        if (from_start && resumed && *resumed > 1) offset = *resumed;
        if (offset > 0) segment.set_offset(offset);
        if (resumed) segment.set_resumed_from(*resumed);
        if (main) NoteBreak(at, printed, printed_before, offset);
      } else if (from_start && at.banner != nullptr) {
        keep_all = true;
        if (main) AddNote("two_runs_in_one_file", at.banner->line, "two runs in one file: a run begins anew here");
      } else {
        keep_all = keep_all || from_start;
        if (main) NoteBreak(at, printed, printed_before, 0);
      }
    }
    if (is_break) ++next;
    printed_before = printed;
    record.set_step(printed + offset);
    if (!begun) segment.set_first(record.step());
    segment.set_last(begun ? std::max(record.step(), segment.last()) : record.step());
    begun = true;
    if (keep_all) continue;
    auto [found, fresh] = by_step.try_emplace(record.step(), indices[i]);
    if (fresh) continue;
    dropped_[found->second] = true;
    replaced.Add(entries_[found->second].values);
    found->second = indices[i];
  }
  if (main && !indices.empty()) *log_.add_segments() = segment;
  NoteReplaced(replaced, main);
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
  std::map<std::pair<bool, Key>, std::vector<std::size_t>> by_key;  // what stands beside the curve by itself
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].has_step && !dropped_[i] && !entries_[i].second_result)
      by_key[{entries_[i].beside, KeyOf(entries_[i].values)}].push_back(i);
  }
  for (auto& [key, indices] : by_key) FoldEqualSteps(indices);
  const std::vector<std::size_t>* longest = nullptr;
  for (const auto& [key, indices] : by_key) {
    if (key.first && longest != nullptr) continue;
    if (longest == nullptr || indices.size() > longest->size()) longest = &indices;
  }
  for (const auto& [key, indices] : by_key) MergeOne(indices, &indices == longest);
}

v1::RunLog RunLogBuilder::Build(absl::string_view format) {
  dropped_.assign(entries_.size(), false);
  DecideByEpoch();
  DecideMaybeInEpoch();
  ResolveEpochSteps();
  FoldBeside();
  ResolveRank0Overflows();
  MergeSegments();
  FoldFlaggedOverflows();
  DropImpossibleOverflows();
  CountersToDifferences();
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
