#include "checks/shards/lists.h"

#include <algorithm>
#include <set>
#include <utility>

namespace paritect {

bool ShardRun::one_world_size() const {
  std::set<int> segments, sizes;
  for (const ShardEpoch& epoch : epochs) {
    for (const ShardReader& reader : epoch.readers) segments.insert(reader.segment);
  }
  for (int segment : segments) {
    auto size = world_sizes.find(segment);
    sizes.insert(size == world_sizes.end() ? 0 : size->second);
  }
  return sizes.size() == 1;
}

int ShardRun::world_size() const {
  return world_sizes.empty() ? 0 : world_sizes.rbegin()->second;
}

std::vector<const ShardRun*> ShardPair::Runs() const {
  std::vector<const ShardRun*> runs;
  if (baseline) runs.push_back(&*baseline);
  for (const ShardRun& run : migrated) runs.push_back(&run);
  return runs;
}

std::vector<bool> ItemsRead(const ShardPair& pair, const ShardEpoch& epoch) {
  std::vector<bool> read(pair.names.size(), false);
  for (const ShardReader& reader : epoch.readers) {
    for (ItemId id : reader.items) read[id] = true;
    for (ItemId id : reader.common) read[id] = true;
    for (ItemId id : reader.evaluation) read[id] = true;
  }
  return read;
}

std::vector<std::vector<ItemId>> ListsByRank(const ShardRun& run, const ShardEpoch& epoch) {
  if (!run.one_world_size()) return {};
  int ranks = run.world_size();
  for (const ShardReader& reader : epoch.readers) {
    if (reader.rank < 0 || reader.repeats_rank) return {};
    if (run.world_size() == 0) ranks = std::max(ranks, reader.rank + 1);
  }
  if (static_cast<std::size_t>(ranks) > epoch.readers.size()) return {};  // some rank is missing
  std::vector<std::vector<ItemId>> lists(static_cast<std::size_t>(ranks));
  std::vector<bool> there(lists.size(), false);
  for (const ShardReader& reader : epoch.readers) {
    const auto rank = static_cast<std::size_t>(reader.rank);
    if (rank >= lists.size()) return {};
    there[rank] = true;
    lists[rank].insert(lists[rank].end(), reader.items.begin(), reader.items.end());
  }
  if (std::find(there.begin(), there.end(), false) != there.end()) return {};
  return lists;
}

namespace {

// A list without an epoch may hold several, where a rank reads a file again; or begin in any, where it began late.
bool MayBeFirstEpoch(const ShardEpoch& epoch) {
  for (const ShardReader& reader : epoch.readers) {
    if (reader.begins_late) return false;
    const std::set<ItemId> distinct(reader.items.begin(), reader.items.end());
    if (distinct.size() != reader.items.size()) return false;
  }
  return true;
}

}  // namespace

const ShardEpoch* FindEpoch(const ShardRun& run, const ShardEpoch& epoch, const ShardRun& other) {
  const auto first = [](const ShardRun& one) { return one.epochs.empty() ? 0 : one.epochs[0].epoch.value_or(0); };
  // One side counts from 0 and the other from 1, and there are equally many: the same epochs. Else one of them was
  // recorded from its second epoch on.
  const bool shifted = first(run) + first(other) == 1 && run.epochs.size() == other.epochs.size();
  const int shift = shifted ? first(other) - first(run) : 0;
  for (const ShardEpoch& one : other.epochs) {
    if (one.epoch.has_value() != epoch.epoch.has_value()) continue;
    if (!one.epoch || *one.epoch == *epoch.epoch + shift) return &one;
  }
  if (run.epochs.empty() || other.epochs.empty()) return nullptr;
  const ShardEpoch& theirs = other.epochs[0];
  if (theirs.epoch.has_value() == epoch.epoch.has_value()) return nullptr;
  if (run.epochs.size() == 1 && other.epochs.size() == 1) return &theirs;
  // One epoch without a number, and several that have one: it is the first, where these were recorded from the start.
  const ShardRun& numbered = epoch.epoch ? run : other;
  const ShardRun& single = epoch.epoch ? other : run;
  const bool from_start = numbered.epochs[0].epoch.value_or(2) <= 1;
  if (&epoch != &run.epochs[0] || single.epochs.size() != 1 || !from_start) return nullptr;
  return MayBeFirstEpoch(single.epochs[0]) ? &theirs : nullptr;
}

bool EveryRankReadsAll(const ShardPair& pair, const ShardEpoch& epoch) {
  const std::vector<bool> read = ItemsRead(pair, epoch);
  const auto total = static_cast<std::size_t>(std::count(read.begin(), read.end(), true));
  std::map<int, std::vector<const ShardReader*>> by_rank;
  for (const ShardReader& reader : epoch.readers) by_rank[reader.rank].push_back(&reader);
  if (by_rank.size() < 2 || total < 2) return false;
  std::vector<std::size_t> last(pair.names.size(), 0);
  std::size_t number = 0;
  for (const auto& [rank, readers] : by_rank) {
    ++number;
    std::size_t own = 0;
    for (const ShardReader* reader : readers) {
      for (const std::vector<ItemId>* list : {&reader->items, &reader->common, &reader->evaluation}) {
        for (ItemId id : *list) own += std::exchange(last[id], number) == number ? 0 : 1;
      }
    }
    if (own != total) return false;
  }
  return true;
}

}  // namespace paritect
