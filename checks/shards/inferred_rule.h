// The rule behind shard lists, told from the lists alone: how the names were ordered, and how the ordered
// sequence was split over the ranks.
//
//   stride   rank r of W takes sequence[r::W]         (torch DistributedSampler, files[rank::world_size])
//   block    each rank takes one consecutive part     (DALI, datasets.shard(contiguous=True), TF file shards)
// Both may be padded by wrap-around: the sequence is lengthened by its own head until all ranks hold equally
// many (torch.utils.data.DistributedSampler with drop_last=False).
//
// Every set of lists fits a block split of *some* sequence, so a split is only told where the sequence that
// it implies is ordered in a known way, or padded as the rule pads.
#ifndef PARITECT_CHECKS_SHARDS_INFERRED_RULE_H_
#define PARITECT_CHECKS_SHARDS_INFERRED_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/shards/name_order.h"
#include "checks/shards/shuffle_laws.h"
#include "checks/shards/view.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

enum class ShardSplit {
  kUnknown,  // not told: the order is none that we know, and nothing is padded
  kNone,     // one rank
  kStride,
  kBlock,
  kEither,  // each rank holds at most one entry: both are the same
};

struct ShardRule {
  ShardSplit split = ShardSplit::kUnknown;
  NameOrders orders = 0;         // that the sequence follows; 0: none of them (shuffled, or as enumerated)
  bool shuffled_within = false;  // ordered and split first, then each rank's list was shuffled
  std::vector<ItemId> sequence;  // what was split, without padding; by the split told, else by stride
  std::vector<ItemId> padding;   // wrapped-around entries, in order
  bool regular = false;          // no entry is there twice but by padding
  std::size_t batch = 1;         // entries that are split together
  // Where neither order nor padding tells the split: both sequences that it may be of.
  bool told = true;
  std::vector<ItemId> as_stride, as_block;
  // The order, if none: what was sorted and then shuffled by a law and seed that are told from the sequence.
  std::optional<Shuffle> shuffle;
  bool unordered = false;  // the lists do not show the order in which their ranks read
};

// `lists`: index = rank, every rank there.
ShardRule InferShardRule(const ShardPair& pair, const std::vector<std::vector<ItemId>>& lists);
// Of an epoch's lists; irregular where a rank is missing. Tells the seed of a shuffle too, which takes longer.
ShardRule InferShardRule(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch);
// The same, made once an audit. `epoch` is one of the run's, `run` one of the pairs of PairShards.
const ShardRule& ShardRuleOf(const CheckContext& context, const ShardPair& pair, const ShardRun& run,
                             const ShardEpoch& epoch);

enum class RuleDifference { kNone, kOrder, kSplit, kPadding, kUnknown };

// What sets two rules apart; `same_split_count`: both sides have as many ranks (then the padding must be
// the same; else only a side that pads where it need not, or the reverse, differs).
RuleDifference CompareShardRules(const ShardRule& baseline, int baseline_ranks, const ShardRule& migrated,
                                 int migrated_ranks);

// "stride (files[rank::8]), byte order" and its translation.
v1::Text DescribeOrder(const ShardPair& pair, const ShardRule& rule);
v1::Text DescribeSplit(const ShardRule& rule, int ranks);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_INFERRED_RULE_H_
