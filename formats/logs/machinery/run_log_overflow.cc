// Overflows as lines tell them: one record an overflow, however many messages and ranks tell of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

// Whether the message tells of the overflow before it, in other words: no record stands between, and the scales agree.
RunLogBuilder::SameOverflow RunLogBuilder::IsToldAgain(const OverflowMessage& message) const {
  constexpr std::int64_t kLinesBeside = 3;     // messages of one event stand together
  constexpr std::int64_t kLinesOfRanks = 200;  // ranks print theirs in between
  if (told_.wordings.empty() || told_.entries != entries_.size() + forgotten_) return SameOverflow::kNo;
  if (message.applied != told_.applied) return SameOverflow::kNo;
  if (message.rank && told_.rank && *message.rank != *told_.rank) return SameOverflow::kNo;
  if (message.scale && told_.scale && *message.scale != *told_.scale) return SameOverflow::kNo;
  const bool other_words =
      std::find(told_.wordings.begin(), told_.wordings.end(), message.wording) == told_.wordings.end();
  const std::int64_t behind = message.line - told_.line;
  const bool same_scale = message.scale && told_.scale;
  if (!other_words) {
    // Ranks that print no rank print one line each of one overflow: a second overflow would bring the scale lower.
    const bool merges =
        !message.rank && !message.one_writer && !message.applied && same_scale && *message.scale > 1 && behind <= 1;
    return merges ? SameOverflow::kPerhaps : SameOverflow::kNo;
  }
  if (behind <= kLinesBeside || (same_scale && behind <= kLinesOfRanks)) return SameOverflow::kYes;
  return behind <= kLinesOfRanks && !same_scale ? SameOverflow::kPerhaps : SameOverflow::kNo;
}

// Adds the message to the overflow told before, where it is of that one.
bool RunLogBuilder::MergesIntoTold(const OverflowMessage& message) {
  if (message.iteration && !told_iterations_.insert(*message.iteration).second) {
    told_.line = message.line;
    return true;
  }
  const SameOverflow same = IsToldAgain(message);
  if (same == SameOverflow::kNo) return false;
  if (same == SameOverflow::kPerhaps) {
    AddNote("overflow_lines_merged", message.line,
            "the message may be of the overflow told before it, by another rank or in other words: taken so");
  }
  told_.line = message.line;
  if (std::find(told_.wordings.begin(), told_.wordings.end(), message.wording) == told_.wordings.end()) {
    told_.wordings.push_back(message.wording);
  }
  if (!told_.rank) told_.rank = message.rank;
  if (message.scale && !told_.scale) OverflowScale(*message.scale);
  return true;
}

void RunLogBuilder::OverflowScale(double scale) {
  if (told_.wordings.empty() || told_.entries != entries_.size() + forgotten_ || told_.scale) return;
  told_.scale = scale;
  // Live readers take records away.
  if (!entries_.empty() && entries_.back().values.line() == told_.first_line) last()->values.set_loss_scale(scale);
}

void RunLogBuilder::Overflow(const OverflowMessage& message) {
  set_overflow_seen();
  if (MergesIntoTold(message)) return;
  if (++overflows_ > kLogRecordsMax) {  // a log of nothing else must not fill the memory
    if (overflows_ == kLogRecordsMax + 1) {
      AddNote("overflows_left_out", message.line, absl::StrCat("more than ", kLogRecordsMax, " overflow messages"));
    }
    return;
  }
  LogRecord record;
  record.values.set_line(message.line);
  record.values.set_overflow(true);
  if (message.iteration) {
    record.values.set_step(*message.iteration + 1);
  } else {
    record.values.set_step_unknown(true);
    has_unknown_steps_ = true;
  }
  record.values.set_overflow_applied(message.applied);
  if (message.rank) record.values.set_rank(*message.rank);
  if (message.scale) record.values.set_loss_scale(*message.scale);
  entries_.push_back(std::move(record));
  if (entries_.size() >= thin_at_) Thin();
  told_ = {message.line,     message.line, message.scale, message.rank, message.applied, entries_.size() + forgotten_,
           {message.wording}};
}

// Ranks print the same overflow each: the lowest rank that prints any is the one that counts.
void RunLogBuilder::ResolveRank0Overflows() {
  if (overflows_ == 0) return;
  std::map<std::int32_t, std::int64_t> counts;
  bool unranked = false;
  for (const LogRecord& entry : entries_) {
    if (!entry.values.step_unknown() || !entry.values.overflow()) continue;
    if (entry.values.has_rank()) {
      ++counts[entry.values.rank()];
    } else {
      unranked = true;
    }
  }
  if (counts.size() < 2 && !(unranked && !counts.empty())) return;
  const std::int32_t lowest = counts.begin()->first;
  for (const auto& [rank, count] : counts) {
    if (count == counts.begin()->second) continue;
    AddNote("overflow_count_differs", 0,
            absl::StrCat("rank ", lowest, " prints ", counts.begin()->second, " overflows, rank ", rank, " prints ",
                         count));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const StepValues& record = entries_[i].values;
    if (record.step_unknown() && record.overflow() && record.has_rank() && record.rank() != lowest) dropped_[i] = true;
  }
}

// A record that says of its own step that it overflowed, and a message beside it that says the same: one overflow. The
// message stands before the record, or behind it where the program prints so.
void RunLogBuilder::FoldFlaggedOverflows() {
  if (overflows_ == 0) return;
  const auto is_message = [&](std::size_t i) {
    return !dropped_[i] && entries_[i].values.overflow() && !entries_[i].has_step && !entries_[i].has_result &&
           !entries_[i].values.overflow_applied();
  };
  const auto ranks_agree = [](const StepValues& a, const StepValues& b) {
    return !a.has_rank() || !b.has_rank() || a.rank() == b.rank();
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LogRecord& flagged = entries_[i];
    if (dropped_[i] || !flagged.has_step || !flagged.values.overflow() || flagged.values.overflow_applied()) continue;
    std::optional<std::size_t> message;
    for (std::size_t k = i; k-- > 0 && !message && (!entries_[k].has_step || entries_[k].second_result);) {
      if (is_message(k) && ranks_agree(entries_[k].values, flagged.values)) message = k;
    }
    for (std::size_t k = i + 1; k < entries_.size() && !message && !entries_[k].has_step; ++k) {
      if (is_message(k) && ranks_agree(entries_[k].values, flagged.values)) message = k;
    }
    if (message) dropped_[*message] = true;
  }
}

// Between two printed steps no more steps can have been skipped than lie between them: what is above that are other
// ranks' lines of the same overflows.
void RunLogBuilder::DropImpossibleOverflows() {
  if (overflows_ == 0) return;
  std::int64_t before = -1;
  std::vector<std::size_t> told;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (dropped_[i]) continue;
    const LogRecord& entry = entries_[i];
    const StepValues& values = entry.values;
    if (values.step_unknown() && values.overflow() && !values.has_rank() && !values.has_engine()) {
      told.push_back(i);
    } else if (entry.has_step && !entry.second_result) {
      const std::int64_t between = values.step() - before;
      for (std::size_t k = 0; before >= 0 && between > 0 && k < told.size(); ++k) {
        if (static_cast<std::int64_t>(k) >= between) dropped_[told[k]] = true;
      }
      told.clear();
      before = values.step();
    }
  }
}

}  // namespace paritect
