// Puts single records (what one rank read at one step) together to lists by segment, epoch and rank.
//
// A new segment begins where the world size changes or a rank's step goes back: the run was resumed. What
// an earlier segment read at or after the step of the resume was thrown away by it (the same steps are
// made again) and is left out, with a note.
#ifndef PARITECT_FORMATS_SHARDS_SHARD_ASSEMBLER_H_
#define PARITECT_FORMATS_SHARDS_SHARD_ASSEMBLER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/shards/shard_format.h"

namespace paritect {

struct ShardRecord {
  std::int64_t line = 0;
  std::optional<std::int64_t> step;
  std::optional<std::int32_t> rank;
  std::optional<std::int32_t> world_size;
  std::optional<std::int32_t> epoch;
  std::vector<std::string> items;
  bool numbers = false;  // every item is a sample number
  bool elided = false;   // "..." stood in the list
  bool whole = false;    // all that the rank reads: another whole list of it is another claim, not more of it
};

class ShardAssembler {
 public:
  void Add(ShardRecord record);
  void AddIncomplete(std::int64_t line, absl::string_view why);
  bool empty() const { return records_.empty(); }
  bool full() const { return items_ > kShardItemsMax; }
  // `format`: where no record has a step; else "index-log".
  absl::StatusOr<ShardLists> Finish(absl::string_view format) &&;

 private:
  struct Placed {
    ShardRecord record;
    int segment = 0;
  };
  bool BeginsSegment(const ShardRecord& record) const;
  bool MadeAgain(const ShardRecord& record) const;
  void DropRedone();

  std::vector<Placed> records_;
  std::vector<v1::Problem> incomplete_;
  std::map<std::optional<std::int32_t>, std::pair<std::optional<std::int32_t>, std::int64_t>>
      last_;                                // rank: epoch, step
  std::set<std::int32_t> ranks_;            // heard in this segment
  std::optional<std::int32_t> world_size_;  // the first one stated in this segment
  int segment_ = 0;
  std::size_t items_ = 0;
  std::int64_t redone_ = 0;
  bool has_steps_ = false;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_SHARD_ASSEMBLER_H_
