#include "checks/shards/shard_picture.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "checks/coverage.h"
#include "checks/shards/findings.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kSides[] = {"a", "b"};

// The list of a rank, run segments one after another.
struct RankList {
  std::vector<ItemId> items;
  bool unordered = false;
};

std::map<int, RankList> ListsOf(const ShardEpoch& epoch) {
  std::map<int, RankList> lists;
  for (const ShardReader& reader : epoch.readers) {
    if (reader.rank < 0) continue;
    RankList& list = lists[reader.rank];
    list.items.insert(list.items.end(), reader.items.begin(), reader.items.end());
    // Two lists of one rank: which came first is not known.
    list.unordered = list.unordered || reader.unordered || reader.repeats_rank;
  }
  return lists;
}

class Maker {
 public:
  Maker(const ShardPair& pair, const ShardEpoch* baseline, const ShardEpoch* migrated)
      : epochs_{baseline, migrated},
        runs_{pair.baseline ? &*pair.baseline : nullptr, pair.migrated.empty() ? nullptr : &pair.migrated[0]} {
    out_.dataset = pair.dataset;
    out_.pair = &pair;
    out_.epoch = baseline != nullptr ? baseline->epoch : migrated->epoch;
  }

  ShardPicture Make() && {
    for (int side = 0; side < 2; ++side) {
      out_.sides[side] = ShardReaders(*out_.pair, epochs_[side]);
      if (epochs_[side] != nullptr) out_.ranks[side] = Ranks(*runs_[side], *epochs_[side]);
      NoteWhatIsMissing(side);
    }
    FindBeside();
    AddRows();
    if (epochs_[0] != nullptr && epochs_[1] != nullptr) CompareOrders();
    if (out_.pair->numbers_against_names) {
      out_.not_known.push_back("one side recorded sample numbers, the other file names");
    }
    return std::move(out_);
  }

 private:
  static int Ranks(const ShardRun& run, const ShardEpoch& epoch) {
    int ranks = run.world_size();
    for (const ShardReader& reader : epoch.readers) ranks = std::max(ranks, reader.rank + 1);
    return ranks;
  }

  void NoteWhatIsMissing(int side) {
    const std::string of = StrCat(" of ", kSides[side]);
    if (epochs_[side] == nullptr || runs_[side] == nullptr) {
      out_.not_known.push_back(
          StrCat("side ", kSides[side], " recorded nothing of this ", out_.epoch ? "epoch" : "data set"));
      return;
    }
    const ShardRun& run = *runs_[side];
    if (!run.missing_ranks.empty()) {
      out_.not_known.push_back(StrCat("no list of rank ", FormatRanks(run.missing_ranks, 20), of));
    }
    if (run.unranked > 0) out_.not_known.push_back(StrCat(run.unranked, " lists", of, " have no rank"));
    if (run.partly_unreadable) out_.not_known.push_back(StrCat("a list", of, " is not whole, or could not be read"));
    const ShardEpoch& epoch = *epochs_[side];
    if (epoch.containers_shared) {
      out_.not_known.push_back(
          StrCat("every rank", of, " opened the same indexed files: who reads which samples does not show"));
    }
    const bool unclear = std::any_of(epoch.readers.begin(), epoch.readers.end(),
                                     [](const ShardReader& reader) { return reader.epochs_unclear; });
    if (unclear) out_.not_known.push_back(StrCat("files", of, " were opened again, and no epochs can be told"));
  }

  void FindBeside() {
    for (const ShardEpoch* epoch : epochs_) {
      if (epoch == nullptr) continue;
      for (const ShardReader& reader : epoch->readers) beside_.insert(reader.common.begin(), reader.common.end());
    }
  }

  bool EndsEarlierThanOther() const {
    if (epochs_[0] == nullptr || epochs_[1] == nullptr) return false;
    return EndsEarlier(*runs_[0], *epochs_[0], *runs_[1], *epochs_[1]) ||
           EndsEarlier(*runs_[1], *epochs_[1], *runs_[0], *epochs_[0]);
  }

  void AddRows() {
    // What stands after the end of a recording that was stopped is unknown, not unread.
    const bool shorter = EndsEarlierThanOther();
    if (shorter) out_.not_known.push_back("one recording agrees as far as it goes, and ends before the other");
    const bool both = epochs_[0] != nullptr && epochs_[1] != nullptr;
    for (ItemId id = 0; id < out_.pair->names.size(); ++id) {
      const auto a = out_.sides[0].Of(id), b = out_.sides[1].Of(id);
      const bool beside = beside_.contains(id);
      if (a.empty() && b.empty() && !beside && !out_.pair->expected[id]) continue;
      ShardPicture::Row row = {.item = id};
      if (beside && a.size() < 2 && b.size() < 2) {
        row.mark = ShardMark::kBeside;
      } else if (a.size() > 1 || b.size() > 1) {
        row.mark = ShardMark::kTwice;
      } else if (a.empty() && b.empty()) {
        row.mark = ShardMark::kUnread;
      } else if (a.empty() || b.empty()) {
        row.mark = ShardMark::kOneSide;
      } else {
        row.mark = a == b ? ShardMark::kSame : ShardMark::kMoved;
      }
      row.differs = both && row.mark != ShardMark::kBeside && a != b && !(shorter && (a.empty() || b.empty()));
      ++out_.counts[row.mark];
      out_.rows.push_back(row);
    }
    std::sort(out_.rows.begin(), out_.rows.end(), [&](const ShardPicture::Row& x, const ShardPicture::Row& y) {
      return out_.pair->names[x.item] < out_.pair->names[y.item];
    });
  }

  // Only lists of which the order is known: workers that read side by side leave none between them.
  void CompareOrders() {
    const auto lists = ListsOf(*epochs_[0]), others = ListsOf(*epochs_[1]);
    std::vector<int> unknown;
    for (const auto& [rank, list] : lists) {
      auto other = others.find(rank);
      if (other == others.end() || list.items == other->second.items) continue;
      std::vector<ItemId> sorted[2] = {list.items, other->second.items};
      for (auto& one : sorted) std::sort(one.begin(), one.end());
      if (sorted[0] != sorted[1]) continue;
      (list.unordered || other->second.unordered ? unknown : out_.order_differs).push_back(rank);
    }
    if (!unknown.empty()) {
      out_.not_known.push_back(StrCat("rank ", FormatRanks(unknown, 20),
                                      " reads the same files, by workers side by side: in which order is not known"));
    }
  }

  const ShardEpoch* epochs_[2];
  const ShardRun* runs_[2];
  std::set<ItemId> beside_;
  ShardPicture out_;
};

}  // namespace

absl::string_view ShardMarkWord(ShardMark mark) {
  switch (mark) {
    case ShardMark::kSame: return "same";
    case ShardMark::kMoved: return "other_rank";
    case ShardMark::kTwice: return "read_twice";
    case ShardMark::kUnread: return "not_read";
    case ShardMark::kOneSide: return "only_one_side";
    case ShardMark::kBeside: return "beside";
  }
  return "";
}

ShardReaders::ShardReaders(const ShardPair& pair, const ShardEpoch* epoch) : begin_(pair.names.size() + 1, 0) {
  if (epoch == nullptr) return;
  std::map<int, std::vector<const ShardReader*>> by_rank;  // ascending, so that ranks of an item are
  for (const ShardReader& reader : epoch->readers) by_rank[reader.rank].push_back(&reader);
  std::vector<std::size_t> last(pair.names.size(), 0);
  std::size_t number = 0;
  const auto for_each = [&](auto visit) {
    for (const auto& [rank, readers] : by_rank) {
      ++number;
      for (const ShardReader* reader : readers) {
        for (ItemId id : reader->items) {
          if (last[id] != number) visit(id, rank);
          last[id] = number;
        }
      }
    }
  };
  for_each([&](ItemId id, int) { ++begin_[id + 1]; });
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  ranks_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for_each([&](ItemId id, int rank) { ranks_[next[id]++] = rank; });
}

absl::Span<const std::int32_t> ShardReaders::Of(ItemId id) const {
  if (id + 1 >= begin_.size()) return {};
  return absl::MakeConstSpan(ranks_).subspan(begin_[id], begin_[id + 1] - begin_[id]);
}

bool ShardPicture::differs() const {
  if (!order_differs.empty()) return true;
  if (ranks[0] > 0 && ranks[1] > 0 && ranks[0] != ranks[1]) return true;
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.differs; });
}

std::vector<ShardPicture> MakeShardPictures(const std::vector<ShardPair>& pairs) {
  std::vector<ShardPicture> pictures;
  for (const ShardPair& pair : pairs) {
    const ShardRun* migrated = pair.migrated.empty() ? nullptr : &pair.migrated[0];
    std::set<const ShardEpoch*> shown;
    if (pair.baseline) {
      for (const ShardEpoch& epoch : pair.baseline->epochs) {
        const ShardEpoch* other = migrated == nullptr ? nullptr : FindEpoch(*pair.baseline, epoch, *migrated);
        shown.insert(other);
        pictures.push_back(Maker(pair, &epoch, other).Make());
      }
    }
    if (migrated == nullptr) continue;
    for (const ShardEpoch& epoch : migrated->epochs) {
      if (!shown.contains(&epoch)) pictures.push_back(Maker(pair, nullptr, &epoch).Make());
    }
  }
  return pictures;
}

}  // namespace paritect
