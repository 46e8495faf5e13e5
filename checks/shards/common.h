// Files that every rank opens, told apart: what stands beside the shards (a vocabulary, an index, a table of labels),
// shards that every rank reads, and files of which any rank reads any part (indexed or mapped containers).
#ifndef PARITECT_CHECKS_SHARDS_COMMON_H_
#define PARITECT_CHECKS_SHARDS_COMMON_H_

#include "checks/shards/lists.h"

namespace paritect {

// Moves what stands beside the shards from `items` to `common` of the epoch's readers, and says in the epoch what
// cannot be told. Only lists of the recorder hold such files: others are left as they are.
void SetCommonApart(const ShardPair& pair, ShardEpoch& epoch);

// Whether a list of the epoch is of the recorder.
bool IsTraced(const ShardEpoch& epoch);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_COMMON_H_
