#include "formats/logs/machinery/segment_merger.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {

// M9: each writer by itself; the one with the most records tells of the segments.
std::vector<v1::Segment> SegmentMerger::Merge() {
  std::map<std::pair<bool, LogWriter>, std::vector<std::size_t>> by_writer;  // what stands beside the curve by itself
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].has_step && !dropped_[i] && !entries_[i].second_result)
      by_writer[{entries_[i].beside, WriterOf(entries_[i].values)}].push_back(i);
  }
  for (auto& [writer, indices] : by_writer) FoldEqualSteps(indices);
  const std::vector<std::size_t>* longest = nullptr;
  for (const auto& [writer, indices] : by_writer) {
    if (writer.first && longest != nullptr) continue;
    if (longest == nullptr || indices.size() > longest->size()) longest = &indices;
  }
  for (const auto& [writer, indices] : by_writer) MergeOne(indices, &indices == longest);
  return std::move(segments_);
}

std::vector<SegmentMerger::Break> SegmentMerger::FindBreaks(const std::vector<std::size_t>& indices) const {
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
    // M3: a step printed twice in a row, where it does not advance on a skipped update. Nothing went back.
    if (step == last && found.marker == nullptr && found.banner == nullptr) continue;
    if (step <= last || (found.marker != nullptr && found.marker->global_step)) breaks.push_back(found);
  }
  return breaks;
}

// M8: whether two writers fill the file: steps go back again and again, or most of them come twice in a row.
bool SegmentMerger::IsInterleaved(const std::vector<std::size_t>& indices, std::size_t breaks,
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

void SegmentMerger::NoteBreak(const Break& at, std::int64_t step, std::int64_t last, std::int64_t offset) {
  const std::int64_t line = at.marker != nullptr ? at.marker->line : at.banner != nullptr ? at.banner->line : 0;
  if (at.marker != nullptr) {
    std::string from = at.marker->global_step ? absl::StrCat(" from global step ", *at.marker->global_step) : "";
    note_("resumed", line,
          absl::StrCat("the run goes on", from, ": step ", step, " follows step ", last,
                       offset > 0 ? absl::StrCat("; printed steps count from ", offset) : ""));
  } else if (step <= 1) {
    note_("step_reset", line,
          absl::StrCat("the printed step starts again at ", step, " after ", last,
                       "; nothing says where the run goes on"));
  } else {
    note_("resumed", line,
          absl::StrCat("step ", step, " follows step ", last, ": the run goes on from an earlier step"));
  }
}

// Steps that only grow, as in most logs: there is nothing to merge.
bool SegmentMerger::OnlyGrows(const std::vector<std::size_t>& indices, bool main) {
  if (std::any_of(indices.begin(), indices.end(), [&](std::size_t i) { return entries_[i].repeats; })) return false;
  if (!main || indices.empty()) return true;
  v1::Segment& segment = segments_.emplace_back();
  segment.set_first(entries_[indices.front()].values.step());
  segment.set_last(entries_[indices.back()].values.step());
  return true;
}

void SegmentMerger::Replaced::Add(const StepValues& record) {
  ++steps;
  if (record.has_loss() && !std::isfinite(record.loss()) && not_finite++ == 0) first = record;
}

void SegmentMerger::NoteReplaced(const Replaced& replaced, bool main) {
  if (replaced.not_finite > 0) {
    note_("loss_rolled_back", replaced.first.line(),
          absl::StrCat("step ", replaced.first.step(), ": the loss is ", FormatDouble(replaced.first.loss()), " (",
                       replaced.not_finite, " steps); the run went back and did them again"));
  }
  if (!main || replaced.steps == 0) return;
  note_("steps_replaced", 0, absl::StrCat(replaced.steps, " steps stand twice; the later ones count"));
}

// Rules M4 to M7 where steps go back, or the run says that it goes on.
void SegmentMerger::BeginSegment(const Break& at, std::int64_t printed, Walk& walk) {
  const bool from_start = printed <= 1;
  if (walk.main) segments_.push_back(walk.segment);
  walk.segment.Clear();
  walk.begun = false;
  walk.offset = 0;
  if (at.marker != nullptr) {  // M4
    const auto resumed = at.marker->global_step;
    if (from_start && resumed && *resumed > 1) walk.offset = *resumed;
    if (walk.offset > 0) walk.segment.set_offset(walk.offset);
    if (resumed) walk.segment.set_resumed_from(*resumed);
    if (walk.main) NoteBreak(at, printed, walk.printed_before, walk.offset);
  } else if (from_start && at.banner != nullptr) {  // M5
    walk.keeps_all = true;
    if (walk.main) note_("two_runs_in_one_file", at.banner->line, "two runs in one file: a run begins anew here");
  } else {  // M6, M7
    walk.keeps_all = walk.keeps_all || from_start;
    if (walk.main) NoteBreak(at, printed, walk.printed_before, 0);
  }
}

void SegmentMerger::AddToSegment(std::size_t index, Walk& walk) {
  StepValues& record = entries_[index].values;
  walk.printed_before = record.step();
  record.set_step(record.step() + walk.offset);
  if (!walk.begun) walk.segment.set_first(record.step());
  walk.segment.set_last(walk.begun ? std::max(record.step(), walk.segment.last()) : record.step());
  walk.begun = true;
  if (walk.keeps_all) return;
  auto [found, fresh] = walk.by_step.try_emplace(record.step(), index);
  if (fresh) return;
  dropped_[found->second] = true;
  walk.replaced.Add(entries_[found->second].values);
  found->second = index;
}

// `indices`: the records of one rank and engine that have a step, in file order.
void SegmentMerger::MergeOne(const std::vector<std::size_t>& indices, bool main) {
  const std::vector<Break> breaks = FindBreaks(indices);
  const auto unexplained = static_cast<std::size_t>(std::count_if(
      breaks.begin(), breaks.end(), [](const Break& b) { return b.marker == nullptr && b.banner == nullptr; }));
  std::size_t back_or_again = 0;
  const bool interleaved = IsInterleaved(indices, unexplained, back_or_again);
  if (interleaved && main) {
    const std::size_t at = breaks.empty() ? 0 : breaks[0].at;
    note_("interleaved_writers", entries_[indices[at]].values.line(),
          absl::StrCat("steps go back or repeat ", back_or_again, " times in ", indices.size(),
                       " records: two writers in one file; records stand in file order"));
  }
  if (back_or_again == 0 && breaks.empty() && OnlyGrows(indices, main)) return;
  Walk walk;
  walk.main = main;
  walk.keeps_all = interleaved;
  std::size_t next = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (entries_[indices[i]].repeats && !interleaved) {  // M2
      dropped_[indices[i]] = true;
      continue;
    }
    const bool is_break = next < breaks.size() && breaks[next].at == i;
    if (is_break && !interleaved) BeginSegment(breaks[next], entries_[indices[i]].values.step(), walk);
    if (is_break) ++next;
    AddToSegment(indices[i], walk);
  }
  if (main && !indices.empty()) segments_.push_back(walk.segment);
  NoteReplaced(walk.replaced, main);
}

// M10: a place within an epoch and a global step (a script's line and DeepSpeed's counters) are known for one step only
// now.
void SegmentMerger::FoldEqualSteps(std::vector<std::size_t>& indices) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    LogRecord* before = kept > 0 ? &entries_[indices[kept - 1]] : nullptr;
    LogRecord& entry = entries_[indices[i]];
    const bool other_form = before != nullptr && before->step_in_epoch != entry.step_in_epoch &&
                            before->values.step() == entry.values.step();
    const bool marked = other_form && std::any_of(markers_.begin(), markers_.end(), [&](const RestartMarker& marker) {
                          return marker.at > indices[kept - 1] && marker.at <= indices[i];
                        });
    if (other_form && !marked && FoldRecord(entry.values, before->values)) {
      before->skipped_is_total = before->skipped_is_total || entry.skipped_is_total;
      dropped_[indices[i]] = true;
      continue;
    }
    indices[kept++] = indices[i];
  }
  indices.resize(kept);
}

}  // namespace paritect
