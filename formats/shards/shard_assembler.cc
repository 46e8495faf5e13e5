#include "formats/shards/shard_assembler.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "formats/shards/list_scanner.h"

namespace paritect {
namespace {

v1::Problem IncompleteProblem(std::int64_t line, absl::string_view why) {
  v1::Problem problem;
  problem.set_id("shard_list_incomplete");
  (*problem.mutable_args())["line"] = absl::StrCat(line);
  (*problem.mutable_args())["why"] = std::string(why);
  return problem;
}

void AddNote(v1::ShardList& list, absl::string_view kind, std::string message) {
  v1::Note& note = *list.add_notes();
  note.set_kind(std::string(kind));
  note.set_message(std::move(message));
}

// One rank of two worlds, and nothing tells of a resume: two claims.
bool OtherWorld(const ShardRecord& record, const v1::ShardList& list) {
  return record.world_size && list.has_world_size() && *record.world_size != list.world_size();
}

}  // namespace

bool ShardAssembler::BeginsSegment(const ShardRecord& record) const {
  // Whole lists without a step or an epoch tell of no resume: two sizes contradict each other, whatever the order.
  const bool tells_time = !record.whole || record.step || record.epoch;
  // Another size from a rank that was heard before, or that the world so far has no place for, is a resume; from
  // a rank of the same world it is a contradiction, which the lists keep side by side.
  if (tells_time && record.world_size && world_size_ && *record.world_size != *world_size_ &&
      (!record.rank || *record.rank >= *world_size_ || ranks_.contains(*record.rank))) {
    return true;
  }
  auto last = last_.find(record.rank);
  if (!record.step || last == last_.end()) return false;
  const auto& [epoch, step] = last->second;
  // Many loops count steps from 0 in each epoch.
  return (epoch == record.epoch || (epoch && record.epoch && *record.epoch < *epoch)) &&
         (*record.step < step || (*record.step == step && MadeAgain(record)));
}

// The step that a rank made last, once more with the same entries: a resume from just before it.
bool ShardAssembler::MadeAgain(const ShardRecord& record) const {
  for (auto it = records_.rbegin(); it != records_.rend(); ++it) {
    if (it->record.rank != record.rank) continue;
    return it->record.step == record.step && it->record.epoch == record.epoch && it->record.items == record.items &&
           !record.items.empty();
  }
  return false;
}

void ShardAssembler::Add(ShardRecord record) {
  if (record.elided) AddIncomplete(record.line, "the printed list is shortened (...)");
  for (std::string& item : record.items) {
    if (!TakeNameOutOfPipe(item)) AddIncomplete(record.line, "a command that names no single file");
  }
  if (BeginsSegment(record)) {
    ++segment_;
    last_.clear();
    ranks_.clear();
    world_size_.reset();
  }
  if (!world_size_) world_size_ = record.world_size;
  if (record.rank) ranks_.insert(*record.rank);
  if (record.step) {
    has_steps_ = true;
    last_[record.rank] = {record.epoch, *record.step};
  }
  items_ += record.items.size();
  records_.push_back({std::move(record), segment_});
}

void ShardAssembler::AddIncomplete(std::int64_t line, absl::string_view why) {
  constexpr std::size_t kProblemsMax = 20;
  if (incomplete_.size() < kProblemsMax) incomplete_.push_back(IncompleteProblem(line, why));
}

// The first (epoch, step) of each later segment bounds what the segments before it keep.
void ShardAssembler::DropRedone() {
  using Place = std::pair<std::int32_t, std::int64_t>;
  std::optional<Place> bound;
  int bounded_segment = segment_ + 1;
  std::optional<Place> first_of_segment;
  std::vector<Placed> kept;
  for (std::size_t i = records_.size(); i > 0; --i) {
    Placed& placed = records_[i - 1];
    if (placed.segment != bounded_segment) {
      if (first_of_segment && (!bound || *first_of_segment < *bound)) bound = first_of_segment;
      first_of_segment.reset();
      bounded_segment = placed.segment;
    }
    if (placed.record.step) {
      const Place place = {placed.record.epoch.value_or(0), *placed.record.step};
      if (bound && place >= *bound) {
        ++redone_;
        continue;
      }
      if (!first_of_segment || place < *first_of_segment) first_of_segment = place;
    }
    kept.push_back(std::move(placed));
  }
  records_.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

absl::StatusOr<ShardLists> ShardAssembler::Finish(absl::string_view format) && {
  if (full()) return absl::ResourceExhaustedError(absl::StrCat("more than ", kShardItemsMax, " entries"));
  if (segment_ > 0) DropRedone();
  using Key = std::tuple<int, std::int32_t, std::int64_t, int>;  // segment, epoch or -1, rank or -1, claim
  std::map<Key, v1::ShardList> lists;
  std::map<int, std::int64_t> consumed;  // by segment
  for (Placed& placed : records_) {
    ShardRecord& record = placed.record;
    Key key = {placed.segment, record.epoch.value_or(-1), record.rank.value_or(-1), 0};
    while (record.rank && lists.contains(key) && (record.whole || OtherWorld(record, lists[key]))) ++std::get<3>(key);
    v1::ShardList& list = lists[key];
    if (list.format().empty()) {
      list.set_format(has_steps_ ? "index-log" : std::string(format));
      list.set_segment(placed.segment);
      list.set_sample_numbers(true);
      if (record.epoch) list.set_epoch(*record.epoch);
      if (record.rank) list.set_rank(*record.rank);
    }
    if (record.world_size) list.set_world_size(*record.world_size);
    if (!record.numbers && !record.items.empty()) list.set_sample_numbers(false);
    consumed[placed.segment] += static_cast<std::int64_t>(record.items.size());
    for (std::string& item : record.items) list.add_items(std::move(item));
  }
  ShardLists out;
  for (auto& [key, list] : lists) {
    std::int64_t before = 0;
    for (const auto& [segment, count] : consumed) before += segment < list.segment() ? count : 0;
    if (list.segment() > 0) list.set_first_sample(before);
    for (const v1::Problem& problem : incomplete_) *list.add_incomplete() = problem;
    if (redone_ > 0 && list.segment() == 0) {
      AddNote(list, "steps_replaced",
              absl::StrCat(redone_, " records of steps that were made again after a resume are left out"));
    }
    out.push_back(std::move(list));
  }
  return out;
}

}  // namespace paritect
