// What the checks of data.sharding share: texts in both languages, what is missing, who read what twice.
#ifndef PARITECT_CHECKS_SHARDS_FINDINGS_H_
#define PARITECT_CHECKS_SHARDS_FINDINGS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/check.h"
#include "checks/settings/world_size.h"
#include "checks/shards/view.h"

namespace paritect {

using TextArgs = std::vector<std::pair<std::string, v1::Text>>;

// The same text in both languages.
v1::Text PlainText(absl::string_view text);

// As AddFinding, with arguments that have a translation.
v1::Finding& AddShardFinding(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                             absl::string_view message_id, absl::string_view subject, const TextArgs& args);
void AddShardMissing(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                     absl::string_view from, const TextArgs& args);

// "migrated side, run npu, epoch 2"
v1::Text WhereText(const CheckContext& context, const ShardRun& run, const ShardEpoch* epoch = nullptr);

// Says of a side that it has no list.
void RequireShards(const CheckContext& context, v1::CheckResult& result);

// What every check of data.sharding does around its judgement: none of them applies to one process, and each says of a
// side that it has no list.
template <void (*kJudge)(const CheckContext& context, v1::CheckResult& result)>
void EvaluateSharding(const CheckContext& context, v1::CheckResult& result) {
  if (IsOneProcess(context, v1::EVIDENCE_KIND_SHARDS, result)) return;
  kJudge(context, result);
  RequireShards(context, result);
}

// What keeps a run's lists from being the whole truth: ranks without a list, lists that are not whole, lists
// without a rank. (Evidence that is absent or failed is reported by the runner.)
void AddWhatIsMissing(const CheckContext& context, v1::CheckResult& result, const ShardRun& run);

// Where files were opened again in an order that tells no epochs: what each epoch reads is not known.
void AddUntoldEpochs(const CheckContext& context, v1::CheckResult& result, const ShardRun& run);

// What opens of files do not tell of a run: files that every rank opened and that may be shards or not, or of which any
// rank reads any part. For checks that ask who reads what.
void AddWhatOpensHide(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run);

// Says for a label that one side has no list of it. True when both have one.
bool BothSides(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair);

// As BothSides; also false, and said, where one side recorded sample numbers and the other files.
bool Comparable(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair);

// An item that more than one (node, rank) read in one epoch.
struct SharedItem {
  ItemId item = 0;
  std::vector<const ShardReader*> readers;  // the first kSharedReadersMax
  std::size_t reader_count = 0;
};
inline constexpr std::size_t kSharedReadersMax = 16;

struct SharedItems {
  std::vector<SharedItem> items;  // in order of ItemId
  bool not_sharded = false;       // every rank read everything
  bool within_node = false;       // two ranks of one node share an item
  bool across_nodes = false;
};

// Items in `allowed` (by ItemId, may be empty) are left out.
SharedItems FindSharedItems(const ShardPair& pair, const ShardEpoch& epoch, const std::vector<bool>& allowed);

// Padding entries of an epoch by ItemId where its lists are padded by wrap-around; else empty.
std::vector<bool> PaddingOf(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch);

// Whether a list of either epoch does not show the order in which its rank read.
bool Unordered(const ShardEpoch& a, const ShardEpoch& b);

// Whether the step-by-step recording of `run` was merely stopped earlier than the other's: the same world size,
// every rank's list is the head of the other's, and no later epoch shows that this one was finished. What stands
// after its end is then unknown, not unread.
bool EndsEarlier(const ShardRun& run, const ShardEpoch& epoch, const ShardRun& other, const ShardEpoch& other_epoch);

// What the lists of one rank leave open on one side.
struct RankReading {
  const ShardRun& run;
  const ShardEpoch& epoch;
  int rank = 0;
  std::vector<ItemId> list;
};

// Whether what sets two lists of one rank apart is no more than what the recordings leave open: a list that is known
// not to be whole, or began in the middle; files that were opened again in no order that tells epochs; files that a
// rank opened once in an epoch before and may still hold; one rank that opened everything where the others opened
// nothing. nullopt: it is more. Else the id of what is missing; empty: AddWhatIsMissing and AddWhatOpensHide say it.
std::optional<std::string> WhyLeftOpen(const RankReading& a, const RankReading& b);

// By ItemId: what the ranks of the recorded epoch opened once, in an epoch before. Empty: none is told.
std::vector<bool> HeldFromBefore(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch);

// Whether the lists of an epoch do not show what was read in it alone: no rule is told from them.
bool TellsNoRule(const ShardEpoch& epoch);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_FINDINGS_H_
