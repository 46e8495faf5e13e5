#include "checks/series/overflow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/held_rate.h"
#include "checks/series/left_out.h"
#include "checks/series/observed_logs.h"
#include "rules/log_formats.h"

namespace paritect {
namespace {

constexpr std::size_t kEvidenceMax = 5;
constexpr double kLargestHalf = 65504;  // of IEEE 754 binary16

void Remember(std::vector<std::string>& places, const LogSource& source, const v1::StepRecord& record) {
  if (places.size() < kEvidenceMax) places.push_back(Where(source, record.line()));
}

// What one rank of one log says.
struct Part {
  OverflowCount count;
  std::set<std::int64_t> flagged;  // steps whose record says whether they overflowed
  bool events = false;             // lines that tell of every overflow
  std::set<std::int64_t> steps;
  std::int64_t overflow_records = 0;
  std::int64_t overflow_after_counter = 0;
  bool has_counter = false;
  bool counts_from_start = false;   // its counter is that of the whole run (DeepSpeed)
  bool steps_are_updates = false;   // a skipped step does not count as one (fairseq's num_updates)
  bool scale_moves_unseen = false;  // the scale is not printed, or falls where no record tells of an overflow
  std::int64_t counted = 0;
  bool flags_clean_steps = false;  // records also say that a step did not overflow
  // A counter that goes on from an earlier log (DeepSpeed's is cumulative) begins with that log's count.
  std::int64_t first_counted = 0;
  std::int64_t first_counted_step = 0;
  std::map<std::int64_t, std::int64_t> counted_at;  // by step
};

// Reductions of the scale between the records of one rank, at least: a scale that falls by 2^k over k or more steps was
// halved k times. A step that goes back begins another segment, whose scale starts anew.
void CountReductions(const std::vector<const v1::StepRecord*>& records, OverflowCount& count) {
  constexpr double kFalls = 1.1;  // printed digits move less
  const v1::StepRecord* before = nullptr;
  bool every_step = true;
  std::int64_t pairs = 0;
  for (const v1::StepRecord* record : records) {
    if (record->step_unknown()) continue;
    if (!record->has_loss_scale() || !(record->loss_scale() > 0) || std::isinf(record->loss_scale())) {
      every_step = every_step && !record->has_loss();
      continue;
    }
    if (before != nullptr && record->step() > before->step()) {
      const std::int64_t gap = record->step() - before->step();
      const double ratio = before->loss_scale() / record->loss_scale();
      const auto halvings = static_cast<std::int64_t>(std::llround(std::log2(std::max(1.0, ratio))));
      if (ratio > kFalls) count.reductions += std::clamp<std::int64_t>(halvings, 1, gap);
      every_step = every_step && gap == 1;
      ++pairs;
    }
    before = record;
  }
  count.scale_at_every_step = every_step && pairs > 0;
}

void FollowScale(const std::vector<const v1::StepRecord*>& records, OverflowCount& count) {
  std::optional<ScaleTrail> trail;
  for (const v1::StepRecord* record : records) {
    if (record->step_unknown() || !record->has_loss_scale()) continue;
    const double scale = record->loss_scale();
    if (!(scale > 0) || std::isinf(scale) || (trail.has_value() && record->step() < trail->last_step)) return;
    if (!trail.has_value()) trail = ScaleTrail{record->step(), record->step(), 0, 0, 0, scale, scale, scale};
    trail->widest_gap = std::max(trail->widest_gap, record->step() - trail->last_step);
    trail->last_step = record->step();
    trail->last = scale;
    trail->lowest = std::min(trail->lowest, scale);
  }
  count.trail = trail;
}

// The search for the first scale, at the beginning of the records.
void ReadStart(const std::vector<const v1::StepRecord*>& records, OverflowCount& count) {
  constexpr std::int64_t kCleanSteps = 20;
  constexpr std::int64_t kFirstMax = 1000;  // a log of a resumed job does not show the start
  std::int64_t clean_since = -1;
  double scale = 0;
  if (records.empty() || records.front()->step() > kFirstMax) return;
  for (const v1::StepRecord* record : records) {
    const bool raised = record->has_loss_scale() && scale > 0 && record->loss_scale() > scale;
    if (record->has_loss_scale()) scale = record->loss_scale();
    const bool skips = record->overflow() || record->skipped() > 0;
    if (raised || (!skips && clean_since >= 0 && record->step() - clean_since >= kCleanSteps)) return;
    if (skips) {
      count.skipped_at_start += std::max<std::int64_t>(1, record->skipped());
      count.steps_at_start = record->step();
      clean_since = -1;
    } else if (clean_since < 0) {
      clean_since = record->step();
    }
  }
}

// Whether the schedule stood still at a skipped step.
void CountRate(const LogSource& source, const std::vector<const v1::StepRecord*>& records, std::size_t i,
               OverflowCount& count) {
  if (records[i]->step_unknown() || !ScheduleCountsUpdates(source.log().format())) return;
  switch (HeldRateAt(records, i)) {
    case HeldRate::kHeld: ++count.rate_held; break;
    case HeldRate::kMoved: ++count.rate_moved; break;
    case HeldRate::kUnknown: break;
  }
}

void TakeCounter(const v1::StepRecord& record, Part& part) {
  if (!part.has_counter) {
    part.first_counted = record.skipped();
    part.first_counted_step = record.step();
  }
  part.counted_at[record.step()] += record.skipped();
  part.has_counter = true;
  part.counted += record.skipped();
  part.overflow_after_counter = 0;
}

// Messages of overflows, each beside at most one record that shows the same one.
class Messages {
 public:
  explicit Messages(const std::vector<const v1::StepRecord*>& records) : records_(records) {}

  // Whether one stands next to the record, and takes it.
  bool Take(std::size_t i) {
    if (i > 0 && IsMessage(i - 1) && taken_.insert(i - 1).second) return true;
    return i + 1 < records_.size() && IsMessage(i + 1) && taken_.insert(i + 1).second;
  }

 private:
  bool IsMessage(std::size_t i) const {
    const v1::StepRecord& record = *records_[i];
    return record.overflow() && !record.overflow_applied() && !record.has_loss() && !record.has_grad_norm();
  }

  const std::vector<const v1::StepRecord*>& records_;
  std::set<std::size_t> taken_;
};

Part Read(const LogSource& source, const std::vector<const v1::StepRecord*>& records) {
  Part part;
  Messages messages(records);
  part.count.reported = source.log().overflow_seen();
  part.steps_are_updates = FactsOfLogFormat(source.log().format()).steps_are_updates;
  part.counts_from_start = FactsOfLogFormat(source.log().format()).skips_count_from_start;
  CountReductions(records, part.count);
  FollowScale(records, part.count);
  ReadStart(records, part.count);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const v1::StepRecord& record = *records[i];
    if (!record.step_unknown()) part.steps.insert(record.step());
    if (record.has_skipped()) {
      TakeCounter(record, part);
      if (record.skipped() > 0) Remember(part.count.evidence, source, record);
    }
    if (record.has_overflow()) {
      part.count.reported = true;
      if (record.step_unknown()) {
        part.events = true;
      } else {
        part.flagged.insert(record.step());
        part.flags_clean_steps = part.flags_clean_steps || !record.overflow();
      }
    }
    if (record.overflow() || record.skipped() > 0) CountRate(source, records, i, part.count);
    const bool falls = i > 0 && record.has_loss_scale() && records[i - 1]->has_loss_scale() &&
                       record.loss_scale() < records[i - 1]->loss_scale();
    part.scale_moves_unseen = part.scale_moves_unseen || !record.has_loss_scale() || (falls && !record.overflow());
    if (record.overflow_applied()) {
      ++part.count.applied;
      Remember(part.count.applied_evidence, source, record);
      continue;
    }
    if (record.overflow()) {
      ++part.overflow_records;
      ++part.overflow_after_counter;
      Remember(part.count.evidence, source, record);
      continue;
    }
    if (!record.has_grad_norm() || record.skipped() > 0) continue;
    if (!std::isfinite(record.grad_norm())) {
      if (UpdateAt(source.log().format(), records, i) == Update::kLeftOut) {
        if (!messages.Take(i)) ++part.overflow_records;  // a message may tell of it as well
        CountRate(source, records, i, part.count);
        part.count.reported = true;
        Remember(part.count.evidence, source, record);
        continue;
      }
      if (std::isnan(record.grad_norm())) continue;  // told as a NaN
      ++part.count.unreported;
      Remember(part.count.unreported_evidence, source, record);
    } else if (record.grad_norm() == kLargestHalf) {
      ++part.count.saturated;
      Remember(part.count.unreported_evidence, source, record);
    }
  }
  const bool counter = part.has_counter && source.log().skipped_counted();
  const bool stands_still = counter && part.counted == 0 && part.overflow_records > 1;
  if (stands_still) part.count.lines_beside_counter = part.overflow_records;
  part.count.skipped = counter && !stands_still ? part.counted + part.overflow_after_counter
                                                : std::max(part.counted, part.overflow_records);
  part.count.by_counter = counter && !stands_still;
  part.count.reported = part.count.reported || part.has_counter;
  // Lines that only ever tell of an overflow tell of every one; flags of printed steps do so of these alone.
  part.events = part.events || (!part.flagged.empty() && !part.flags_clean_steps);
  part.count.counted = part.events || part.has_counter;
  return part;
}

// A log that goes on from `part` with its cumulative counter: what that counter held then is not skipped again.
void TakeStartOff(const Part& part, Part& next) {
  if (!part.has_counter || !next.has_counter || next.first_counted <= 0) return;
  std::int64_t before = 0;
  for (const auto& [step, skipped] : part.counted_at) before += step <= next.first_counted_step ? skipped : 0;
  const bool late = next.steps.empty() || *next.steps.begin() > 1;
  if (!late || before <= 0 || next.first_counted < before) return;
  next.counted -= before;
  next.count.skipped -= before;
  next.first_counted -= before;
}

// Steps between two records, as most are apart; of a single record what led to it.
std::int64_t IntervalOf(const std::set<std::int64_t>& steps) {
  std::vector<double> gaps;
  for (auto it = steps.begin(); std::next(it) != steps.end(); ++it) {
    gaps.push_back(static_cast<double>(*std::next(it) - *it));
  }
  return gaps.empty() ? std::max<std::int64_t>(1, *steps.begin()) : static_cast<std::int64_t>(Median(std::move(gaps)));
}

// A counter of the whole run in a log that begins in its middle (a resumed job of which only this log is there): what
// it holds at the first record was skipped before. A counter since the last record cannot hold more than lie between
// two.
void LeaveOutBefore(bool counts_from_start, Part& part) {
  if (!part.has_counter || part.first_counted <= 0 || part.steps.empty()) return;
  const std::int64_t interval = IntervalOf(part.steps);
  const bool late = *part.steps.begin() > interval && part.first_counted_step == *part.steps.begin();
  if (!late || (!counts_from_start && part.first_counted <= interval)) return;
  part.counted -= part.first_counted;
  part.count.skipped = std::max<std::int64_t>(0, part.count.skipped - part.first_counted);
  part.first_counted = 0;
}

// A line without a step tells of an overflow that the step records may show as well: the infinite norm of
// the next record is the same event.
void SettleUnreported(Part& part) {
  const std::int64_t told = part.count.skipped + part.count.applied;
  part.count.unreported = std::max<std::int64_t>(0, part.count.unreported - told);
  if (part.count.unreported == 0 && part.count.saturated == 0) part.count.unreported_evidence.clear();
}

// Steps from before the first printed one to the last: a log that prints every tenth step from the tenth on
// covers all of them.
std::int64_t BeforeFirst(const std::set<std::int64_t>& steps) {
  const std::int64_t interval = IntervalOf(steps);
  return std::max<std::int64_t>(*steps.begin() - interval, *steps.begin() == 0 ? -1 : 0);
}

void CoverSteps(const Part& part, OverflowCount& count) {
  count.steps = part.steps.empty() ? 0 : *part.steps.rbegin() - BeforeFirst(part.steps);
  // Where skipped steps are not counted as steps, they were tried beside those that are.
  if (part.steps_are_updates && count.steps > 0) count.steps += count.skipped;
  if (part.steps_are_updates) count.trail.reset();
  if (!count.trail.has_value()) return;
  count.trail->steps_before = count.trail->first_step - BeforeFirst(part.steps);
  count.trail->steps_after = *part.steps.rbegin() - count.trail->last_step;
}

// `next` continues `part` (a resumed run) or tells of the same steps (another rank).
bool Continues(const Part& part, const Part& next) {
  if (part.steps.empty() || next.steps.empty()) return false;
  const auto common = static_cast<std::size_t>(std::count_if(
      next.steps.begin(), next.steps.end(), [&](std::int64_t step) { return part.steps.contains(step); }));
  return common * 2 < std::min(part.steps.size(), next.steps.size());
}

void Join(Part& part, Part next) {
  if (Continues(part, next)) {
    TakeStartOff(part, next);
    part.count.trail.reset();
    part.count.skipped += next.count.skipped;
    part.count.applied += next.count.applied;
    part.count.unreported += next.count.unreported;
    part.count.reductions += next.count.reductions;
    part.count.scale_at_every_step = part.count.scale_at_every_step && next.count.scale_at_every_step;
  } else {
    if (next.count.skipped > part.count.skipped) part.count.evidence = next.count.evidence;
    part.count.skipped = std::max(part.count.skipped, next.count.skipped);
    part.count.skipped_at_start = std::max(part.count.skipped_at_start, next.count.skipped_at_start);
    part.count.steps_at_start = std::max(part.count.steps_at_start, next.count.steps_at_start);
    part.count.applied = std::max(part.count.applied, next.count.applied);
    part.count.unreported = std::max(part.count.unreported, next.count.unreported);
    part.count.reductions = std::max(part.count.reductions, next.count.reductions);
    part.count.scale_at_every_step = part.count.scale_at_every_step || next.count.scale_at_every_step;
    if (!part.count.trail.has_value()) part.count.trail = next.count.trail;
  }
  part.count.counted = part.count.counted || next.count.counted;
  part.count.by_counter = part.count.by_counter || next.count.by_counter;
  part.count.lines_beside_counter = std::max(part.count.lines_beside_counter, next.count.lines_beside_counter);
  part.count.rate_held = std::max(part.count.rate_held, next.count.rate_held);
  part.count.rate_moved = std::max(part.count.rate_moved, next.count.rate_moved);
  for (const auto& [step, skipped] : next.counted_at) part.counted_at[step] = skipped;
  part.count.saturated = std::max(part.count.saturated, next.count.saturated);
  part.count.reported = part.count.reported || next.count.reported;
  for (auto* places : {&next.count.unreported_evidence, &next.count.applied_evidence}) {
    auto& mine =
        places == &next.count.unreported_evidence ? part.count.unreported_evidence : part.count.applied_evidence;
    for (std::string& place : *places) {
      if (mine.size() < kEvidenceMax) mine.push_back(std::move(place));
    }
  }
  part.steps.merge(next.steps);
  part.flagged.merge(next.flagged);
  part.events = part.events || next.events;
  part.has_counter = part.has_counter || next.has_counter;
  part.scale_moves_unseen = part.scale_moves_unseen || next.scale_moves_unseen;
}

using RecordsByRank = std::map<std::pair<std::string, std::int64_t>, std::vector<const v1::StepRecord*>>;

// Overflow lines without rank or engine belong to the log's only rank; where it has several, to each.
RecordsByRank Split(const v1::RunLog& log, const v1::Evidence& evidence) {
  RecordsByRank result;
  std::set<std::pair<std::string, std::int64_t>> keys;
  const auto key_of = [&](const v1::StepRecord& record) {
    const std::int64_t rank = record.has_rank() ? record.rank() : evidence.has_rank() ? evidence.rank() : -1;
    return std::pair<std::string, std::int64_t>(record.engine(), rank);
  };
  for (const v1::StepRecord& record : log.records()) {
    if (!record.step_unknown()) keys.insert(key_of(record));
  }
  for (const v1::StepRecord& record : log.records()) {
    if (record.step_unknown() && !record.has_overflow()) continue;  // an evaluation
    const auto key = key_of(record);
    if (!record.step_unknown() || keys.empty() || keys.contains(key)) {
      result[key].push_back(&record);
    } else if (keys.size() == 1) {
      result[*keys.begin()].push_back(&record);
    } else {
      for (const auto& one : keys) {
        if (record.has_engine() && one.first != key.first) continue;
        result[one].push_back(&record);
      }
    }
  }
  return result;
}

std::vector<OverflowCount> Count(const RunSeries& run) {
  std::map<std::string, Part> engines;
  for (const LogSource& source : ScaleLogs(run)) {
    for (const auto& [key, records] : Split(source.log(), *source.evidence)) {
      Part part = Read(source, records);
      SettleUnreported(part);
      auto [it, added] = engines.try_emplace(key.first);
      if (added) {
        it->second = std::move(part);
      } else {
        Join(it->second, std::move(part));
      }
    }
  }
  // The loss is nobody's where engines are told apart by their counters.
  const bool counted = std::any_of(engines.begin(), engines.end(),
                                   [](const auto& one) { return !one.first.empty() && one.second.has_counter; });
  std::vector<OverflowCount> result;
  for (auto& [engine, part] : engines) {
    if (counted && engine.empty() && !part.count.reported && part.count.skipped == 0) continue;
    LeaveOutBefore(part.counts_from_start, part);
    part.count.engine = engine;
    CoverSteps(part, part.count);
    const auto flagged = static_cast<std::int64_t>(part.flagged.size());
    part.count.sampled = flagged > 0 && !part.events && !part.has_counter && 2 * flagged <= part.count.steps;
    part.count.scale_moves_unseen = part.scale_moves_unseen;
    part.count.told_steps = flagged;
    part.count.skipped_at_start = std::min(part.count.skipped_at_start, part.count.skipped);
    result.push_back(std::move(part.count));
  }
  return result;
}

}  // namespace

const std::vector<OverflowCount>& CountOverflows(const RunSeries& run) {
  return run.views->Get<std::vector<OverflowCount>>({}, [&] { return Count(run); });
}

std::int64_t ImpliedByScale(const OverflowCount& count) {
  // A counter may tell of the last overflow with the next line: one apart is no contradiction.
  const std::int64_t told_late = count.reported ? 1 : 0;
  return count.reductions > count.skipped + count.applied + told_late ? count.reductions - count.applied
                                                                      : count.skipped;
}

std::optional<RankDisagreement> FindRankDisagreement(const RunSeries& run) {
  struct Norms {
    std::string name;
    std::map<std::int64_t, double> by_step;
  };
  std::vector<Norms> ranks;
  for (const LogSource& source : run.logs) {
    for (const auto& [key, records] : Split(source.log(), *source.evidence)) {
      Norms norms;
      norms.name = key.second >= 0 ? absl::StrCat("rank ", key.second, " (", Where(source, 0), ")") : Where(source, 0);
      for (const v1::StepRecord* record : records) {
        if (record->has_grad_norm() && !record->step_unknown()) norms.by_step[record->step()] = record->grad_norm();
      }
      if (!norms.by_step.empty()) ranks.push_back(std::move(norms));
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      if (i == j) continue;
      RankDisagreement found{ranks[i].name, ranks[j].name, 0, 0};
      bool disagree = false;
      for (const auto& [step, norm] : ranks[i].by_step) {
        auto other = ranks[j].by_step.find(step);
        if (other == ranks[j].by_step.end()) continue;
        found.count_a += std::isfinite(norm) ? 0 : 1;
        found.count_b += std::isfinite(other->second) ? 0 : 1;
        disagree = disagree || std::isfinite(norm) != std::isfinite(other->second);
      }
      if (disagree && found.count_a >= found.count_b) return found;
    }
  }
  return std::nullopt;
}

}  // namespace paritect
