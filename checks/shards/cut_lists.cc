#include "checks/shards/cut_lists.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"

namespace paritect {
namespace {

class Marker {
 public:
  Marker(ShardPair& pair, const std::vector<ItemId>& declared) : pair_(pair), declared_(declared) {}

  void Run() {
    std::vector<ShardRun*> runs;
    if (pair_.baseline) runs.push_back(&*pair_.baseline);
    for (ShardRun& run : pair_.migrated) runs.push_back(&run);
    for (ShardRun* run : runs) {
      std::vector<ShardReader*> open;
      bool all_open = true;
      for (ShardEpoch& epoch : run->epochs) {
        for (ShardReader& reader : epoch.readers) {
          all_open = all_open && reader.ends_openly;
          if (reader.ends_openly && !reader.items.empty()) open.push_back(&reader);
        }
      }
      for (ShardReader* reader : open) Mark(*run, *reader, all_open);
    }
  }

 private:
  // The lists of the other side.
  std::vector<const ShardRun*> Others(const ShardRun& run) const {
    std::vector<const ShardRun*> others;
    for (const ShardRun* one : pair_.Runs()) {
      if (one->side != run.side) others.push_back(one);
    }
    return others;
  }

  void Mark(ShardRun& run, ShardReader& reader, bool all_open) {
    const std::vector<const ShardRun*> others = Others(run);
    const bool in_name = EndsInName(reader, others);
    bool head = false, in_entry = false;
    for (const ShardRun* other : others) {
      ForEachReader(*other, [&](const ShardReader& theirs) {
        if (theirs.rank != reader.rank || !IsHead(reader.items, theirs.items, all_open)) return;
        head = true;
        in_entry = in_entry || reader.items.back() != theirs.items[reader.items.size() - 1];
      });
    }
    if (!in_name && !head) return;
    reader.cut = true;
    run.partly_unreadable = true;
    if (in_name || in_entry) reader.items.pop_back();
  }

  bool Known(ItemId item, const std::vector<const ShardRun*>& others) const {
    bool known = std::find(declared_.begin(), declared_.end(), item) != declared_.end();
    for (const ShardRun* other : others) {
      ForEachReader(*other, [&](const ShardReader& theirs) {
        known = known || std::find(theirs.items.begin(), theirs.items.end(), item) != theirs.items.end();
      });
    }
    return known;
  }

  bool Begins(ItemId part, ItemId whole) const {
    const absl::string_view one = pair_.names[part], other = pair_.names[whole];
    return one.size() < other.size() && absl::StartsWith(other, one);
  }

  // The last entry is no name that anybody else has, and begins one.
  bool EndsInName(const ShardReader& reader, const std::vector<const ShardRun*>& others) const {
    const ItemId last = reader.items.back();
    if (pair_.sample_numbers || Known(last, others)) return false;
    const auto begins = [&](ItemId id) { return Begins(last, id); };
    bool found = std::any_of(declared_.begin(), declared_.end(), begins);
    for (const ShardRun* other : others) {
      ForEachReader(*other, [&](const ShardReader& theirs) {
        found = found || std::any_of(theirs.items.begin(), theirs.items.end(), begins);
      });
    }
    return found;
  }

  // As the other list as far as it goes: cut within the last entry; or just behind it, where other lists of the run
  // have a last line end.
  bool IsHead(const std::vector<ItemId>& list, const std::vector<ItemId>& other, bool all_open) const {
    if (list.size() > other.size() || !std::equal(list.begin(), list.end() - 1, other.begin())) return false;
    const ItemId theirs = other[list.size() - 1];
    if (list.back() == theirs) return !all_open && list.size() < other.size();
    return Begins(list.back(), theirs);
  }

  ShardPair& pair_;
  const std::vector<ItemId>& declared_;
};

}  // namespace

void MarkCutLists(ShardPair& pair, const std::vector<ItemId>& declared) {
  Marker(pair, declared).Run();
}

}  // namespace paritect
