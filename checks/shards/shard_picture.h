// What `diff shards` and a report show of one epoch of one label: which ranks read which file on both sides, and what
// of it differs, is read twice or by nobody, or cannot be told.
#ifndef PARITECT_CHECKS_SHARDS_SHARD_PICTURE_H_
#define PARITECT_CHECKS_SHARDS_SHARD_PICTURE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "checks/shards/view.h"

namespace paritect {

enum class ShardMark { kSame, kMoved, kTwice, kUnread, kOneSide, kBeside };

// "same", "other_rank", "read_twice", "not_read", "only_one_side", "beside".
absl::string_view ShardMarkWord(ShardMark mark);

// The ranks that read each file on one side, ascending, each once; -1: a list without a rank. Four bytes a reader: a
// million files are no burden.
class ShardReaders {
 public:
  ShardReaders() = default;
  // `epoch` may be nullptr: the side has none.
  ShardReaders(const ShardPair& pair, const ShardEpoch* epoch);
  absl::Span<const std::int32_t> Of(ItemId id) const;

 private:
  std::vector<std::size_t> begin_;  // by item, and one more
  std::vector<std::int32_t> ranks_;
};

struct ShardPicture {
  struct Row {
    ItemId item = 0;
    ShardMark mark = ShardMark::kSame;
    bool differs = false;  // between the sides
  };

  std::string dataset;
  std::optional<int> epoch;
  const ShardPair* pair = nullptr;
  ShardReaders sides[2];
  int ranks[2] = {0, 0};
  std::vector<Row> rows;  // by name
  std::map<ShardMark, std::size_t> counts;
  std::vector<int> order_differs;  // ranks that read the same files in another order
  // Why equal rows are not the whole truth: "rank 2 of a has no list". Differences that are there stand all the same.
  std::vector<std::string> not_known;

  bool differs() const;
};

// One an epoch that either side has, in order.
std::vector<ShardPicture> MakeShardPictures(const std::vector<ShardPair>& pairs);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_SHARD_PICTURE_H_
