#include "checks/shards/common.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/recorded_formats.h"
#include "rules/file_names.h"

namespace paritect {
namespace {

// So many files that differ in their numbers alone are parts of one whole.
constexpr std::size_t kSeriesMin = 2;
// A few files beside many shards: at most one for so many.
constexpr std::size_t kShardsBesideOne = 4;

bool Holds(const std::vector<std::string>& list, absl::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

absl::string_view LastStep(absl::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

// The last ending with its dot; "" where there is none.
absl::string_view RawEnding(absl::string_view name) {
  const absl::string_view last = LastStep(name);
  const std::size_t dot = last.rfind('.');
  return dot == absl::string_view::npos || dot == 0 ? absl::string_view() : last.substr(dot);
}

// "a/part-1" and ".tar" of "a/part-1.TAR.gz".
struct NameParts {
  absl::string_view stem;
  std::string ending;
};

NameParts PartsOf(absl::string_view name) {
  absl::string_view ending = RawEnding(name);
  if (Holds(BuiltInFileNames().packed_endings, absl::AsciiStrToLower(ending))) {
    const absl::string_view unpacked = name.substr(0, name.size() - ending.size());
    if (!RawEnding(unpacked).empty()) {
      name = unpacked;
      ending = RawEnding(name);
    }
  }
  return {name.substr(0, name.size() - ending.size()), absl::AsciiStrToLower(ending)};
}

// "part-#.tar": what files that differ in their numbers have in common.
std::string WithoutDigits(absl::string_view name) {
  std::string out;
  for (char c : name) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (digit && !out.empty() && out.back() == '#') continue;
    out.push_back(digit ? '#' : c);
  }
  return out;
}

bool HasSeries(const ShardPair& pair, const std::vector<ItemId>& items) {
  std::map<std::string, std::size_t> forms;
  for (ItemId id : items) {
    std::string form = WithoutDigits(pair.names[id]);
    if (absl::StrContains(form, "#") && ++forms[std::move(form)] >= kSeriesMin) return true;
  }
  return false;
}

enum class Meaning { kBeside, kShards, kUnclear };

class Sorter {
 public:
  Sorter(const ShardPair& pair, ShardEpoch& epoch) : pair_(pair), epoch_(epoch) {}

  void Run() {
    CountRanks();
    if (rank_count_ < 2) return;
    for (ItemId id = 0; id < ranks_of_.size(); ++id) {
      if (ranks_of_[id] == 0) continue;
      const NameParts parts = PartsOf(pair_.names[id]);
      if (ranks_of_[id] < rank_count_) {
        ++partly_;
        partly_endings_.insert(parts.ending);
        partly_stems_.insert(parts.stem);
        partly_forms_.insert(WithoutDigits(pair_.names[id]));
      } else {
        shared_[parts.ending].push_back(id);
        shared_stems_.insert(pair_.names[id]);
      }
    }
    if (partly_ == 0) {
      epoch_.containers_shared = OnlyContainers();
      return;
    }
    for (const auto& [ending, items] : shared_) {
      if (partly_endings_.contains(ending)) {
        KeepLikeShards(ending, items);
        continue;
      }
      const Meaning meaning = MeaningOf(ending, items);
      if (meaning == Meaning::kShards) continue;
      for (ItemId id : items) beside_.insert(id);
      if (meaning == Meaning::kUnclear) {
        epoch_.unclear_common.insert(epoch_.unclear_common.end(), items.begin(), items.end());
      }
    }
    if (!beside_.empty()) Move();
  }

 private:
  // A rank may have several lists (run segments), and a list may hold a file twice.
  void CountRanks() {
    std::map<int, std::vector<const ShardReader*>> by_rank;
    for (const ShardReader& reader : epoch_.readers) by_rank[reader.rank].push_back(&reader);
    rank_count_ = by_rank.size();
    ranks_of_.assign(pair_.names.size(), 0);
    std::vector<std::size_t> last(pair_.names.size(), 0);
    std::size_t number = 0;
    for (const auto& [rank, readers] : by_rank) {
      ++number;
      for (const ShardReader* reader : readers) {
        for (ItemId id : reader->items) {
          if (last[id] == number) continue;
          last[id] = number;
          ++ranks_of_[id];
        }
      }
    }
  }

  // Some of its kind are shards: so are these; but "vocab.json" is none of "part-#.json".
  void KeepLikeShards(const std::string& ending, const std::vector<ItemId>& items) {
    if (!Holds(BuiltInFileNames().beside_endings, ending)) return;
    for (ItemId id : items) {
      if (!partly_forms_.contains(WithoutDigits(pair_.names[id]))) beside_.insert(id);
    }
  }

  bool IsContainer(absl::string_view ending, ItemId id) const {
    const FileNames& names = BuiltInFileNames();
    if (Holds(names.container_endings, ending)) return true;
    // "x.bin" with its index "x.idx" beside it.
    const absl::string_view stem = PartsOf(pair_.names[id]).stem;
    return ending == ".bin" && shared_stems_.contains(std::string(stem) + ".idx");
  }

  // Every rank reads everything: of containers that says nothing of who reads which sample.
  bool OnlyContainers() const {
    bool any = false;
    for (const auto& [ending, items] : shared_) {
      for (ItemId id : items) {
        if (IsContainer(ending, id)) {
          any = true;
        } else if (!Holds(BuiltInFileNames().beside_endings, ending)) {
          return false;
        }
      }
    }
    return any;
  }

  Meaning MeaningOf(const std::string& ending, const std::vector<ItemId>& items) const {
    // "part-1.idx" beside "part-1.tar", which one rank reads.
    const bool siblings = std::all_of(items.begin(), items.end(),
                                      [&](ItemId id) { return partly_stems_.contains(PartsOf(pair_.names[id]).stem); });
    if (siblings) return Meaning::kBeside;
    const bool few = items.size() * kShardsBesideOne <= partly_;
    const bool containers = std::all_of(items.begin(), items.end(), [&](ItemId id) { return IsContainer(ending, id); });
    if (containers) return few ? Meaning::kBeside : Meaning::kUnclear;
    const bool beside = ending.empty() || Holds(BuiltInFileNames().beside_endings, ending);
    const bool series = HasSeries(pair_, items);
    if (beside) return series && items.size() > partly_ ? Meaning::kUnclear : Meaning::kBeside;
    if (series) return Meaning::kShards;
    return few ? Meaning::kBeside : Meaning::kUnclear;
  }

  void Move() {
    for (ShardReader& reader : epoch_.readers) {
      auto first = std::stable_partition(reader.items.begin(), reader.items.end(),
                                         [&](ItemId id) { return !beside_.contains(id); });
      reader.common.assign(first, reader.items.end());
      reader.items.erase(first, reader.items.end());
    }
  }

  const ShardPair& pair_;
  ShardEpoch& epoch_;
  std::size_t rank_count_ = 0;
  std::vector<std::size_t> ranks_of_;  // by ItemId
  std::size_t partly_ = 0;             // files that some ranks read and others do not
  std::set<std::string> partly_endings_;
  absl::flat_hash_set<std::string> partly_forms_;
  absl::flat_hash_set<absl::string_view> partly_stems_, shared_stems_;
  std::map<std::string, std::vector<ItemId>> shared_;  // by ending: files that all ranks read
  absl::flat_hash_set<ItemId> beside_;
};

}  // namespace

bool IsTraced(const ShardEpoch& epoch) {
  return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                     [](const ShardReader& reader) { return reader.evidence->shards().format() == kTraceFormat; });
}

void SetCommonApart(const ShardPair& pair, ShardEpoch& epoch) {
  const bool all = std::all_of(epoch.readers.begin(), epoch.readers.end(), [](const ShardReader& reader) {
    return reader.evidence->shards().format() == kTraceFormat;
  });
  if (all && !epoch.readers.empty()) Sorter(pair, epoch).Run();
}

}  // namespace paritect
