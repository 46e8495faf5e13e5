#include "checks/shards/epochs.h"

#include <algorithm>
#include <set>

#include "common/recorded_formats.h"

namespace paritect {
namespace {

// How often each file is read, where that is the same for all: 0 where it is not.
std::size_t TimesRead(const ShardPair& pair, const ShardEpoch& epoch) {
  std::vector<std::size_t> times(pair.names.size(), 0);
  for (const ShardReader& reader : epoch.readers) {
    for (ItemId id : reader.items) ++times[id];
  }
  std::size_t common = 0;
  for (std::size_t count : times) {
    if (count == 0) continue;
    if (common != 0 && count != common) return 0;
    common = count;
  }
  return common;
}

// Whether part `part` of `parts` of all lists holds no file twice.
bool IsEpoch(const ShardPair& pair, const ShardEpoch& epoch, std::size_t part, std::size_t parts) {
  std::vector<bool> seen(pair.names.size(), false);
  for (const ShardReader& reader : epoch.readers) {
    const std::size_t size = reader.items.size() / parts;
    for (std::size_t i = part * size; i < (part + 1) * size; ++i) {
      if (seen[reader.items[i]]) return false;
      seen[reader.items[i]] = true;
    }
  }
  return true;
}

bool MaySplit(const ShardEpoch& epoch) {
  std::set<int> ranks;
  for (const ShardReader& reader : epoch.readers) {
    const bool traced = reader.evidence->shards().format() == kTraceFormat;
    if (!traced || reader.rank < 0 || reader.segment != 0 || !ranks.insert(reader.rank).second) return false;
    if (reader.items.size() != epoch.readers[0].items.size()) return false;
  }
  return ranks.size() > 1;
}

}  // namespace

void TellEpochs(const ShardPair& pair, ShardRun& run) {
  if (run.epochs.size() != 1 || run.epochs[0].epoch || !MaySplit(run.epochs[0])) return;
  ShardEpoch& whole = run.epochs[0];
  const std::size_t parts = TimesRead(pair, whole);
  if (parts < 2 || whole.readers[0].items.size() % parts != 0) return;
  // Lists of workers side by side stand one after another: their parts are workers, not epochs.
  const bool unordered = std::any_of(whole.readers.begin(), whole.readers.end(),
                                     [](const ShardReader& reader) { return reader.unordered; });
  bool splits = !unordered;
  for (std::size_t part = 0; splits && part < parts; ++part) splits = IsEpoch(pair, whole, part, parts);
  if (!splits) {
    for (ShardReader& reader : whole.readers) reader.epochs_unclear = reader.epochs_unclear || unordered;
    return;
  }
  std::vector<ShardEpoch> epochs(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    epochs[part].epoch = static_cast<int>(part);
    for (const ShardReader& reader : whole.readers) {
      const auto size = static_cast<std::ptrdiff_t>(reader.items.size() / parts);
      ShardReader& one = epochs[part].readers.emplace_back(reader);
      const auto begin = reader.items.begin() + static_cast<std::ptrdiff_t>(part) * size;
      one.items.assign(begin, begin + size);
    }
  }
  run.epochs = std::move(epochs);
}

void TellScans(const ShardPair& pair, ShardRun& run) {
  if (run.epochs.size() < 2) return;
  bool split = false;  // a later epoch in which no two ranks share a file
  for (auto epoch = run.epochs.rbegin(); epoch != run.epochs.rend(); ++epoch) {
    const bool traced = std::all_of(epoch->readers.begin(), epoch->readers.end(), [](const ShardReader& reader) {
      return reader.evidence->shards().format() == kTraceFormat;
    });
    if (!traced) return;
    if (EveryRankReadsAll(pair, *epoch)) {
      epoch->maybe_scan = split;
    } else {
      split = split || TimesRead(pair, *epoch) == 1;
    }
  }
}

}  // namespace paritect
