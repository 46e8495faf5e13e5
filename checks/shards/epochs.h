// Epochs of recorded lists in which no rank opens a file again: another shard in each epoch, as a shuffle of each epoch
// gives. Within one rank they look like one long epoch, over all ranks like files that several ranks read.
#ifndef PARITECT_CHECKS_SHARDS_EPOCHS_H_
#define PARITECT_CHECKS_SHARDS_EPOCHS_H_

#include "checks/shards/lists.h"

namespace paritect {

// Splits a run's only epoch where equal parts of all lists each hold every file once. Where the order of reading is not
// known (workers side by side) and files are read equally often, says that epochs are unclear.
void TellEpochs(const ShardPair& pair, ShardRun& run);

// Says of an epoch in which every rank opened everything, where a later one shows that the ranks share out the files,
// that it may be none: they may have looked through the files first.
void TellScans(const ShardPair& pair, ShardRun& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_EPOCHS_H_
