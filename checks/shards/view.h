// The shard lists of both sides, made ready for comparison (lists.h). All checks of data.sharding start from here.
#ifndef PARITECT_CHECKS_SHARDS_VIEW_H_
#define PARITECT_CHECKS_SHARDS_VIEW_H_

#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"
#include "checks/shards/lists.h"

namespace paritect {

// One pair a label, sorted by label. A label that only one side has stands alone; a label that is empty
// on one side is paired with the only label of the other. Made once an audit.
const std::vector<ShardPair>& PairShards(const CheckContext& context);
// The same of evidence that no audit holds.
std::vector<ShardPair> MakeShardPairs(const EvidenceSet& evidence);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_VIEW_H_
