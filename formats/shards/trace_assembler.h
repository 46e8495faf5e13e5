// What the processes of one node recorded, put together to the lists of its ranks.
//
// Rank: by the variables that each process had; a process without any (mp.spawn passes the rank as an argument) is told
// by its place in the tree: the children of the process that started all ranks, in the order of their birth, where the
// world size that is known is their number. Processes of one rank are its data-loader workers: they read side by side,
// so their lists stand one after another by birth, with a note "unordered".
//
// Epochs: a rank that reads its files k times over, each time all of them, has k epochs; so has one whose processes are
// of k iterators, one after another. Processes side by side that open the same files are no epochs. Where files are
// opened again in another way the list holds each once, by its first open, with a note "epochs_unclear". Files that
// ranks looked through before they read their own are left out, where all ranks together show it (note "scanned").
// What programs open that copy or check files (cp, rsync, md5sum) is not read.
#ifndef PARITECT_FORMATS_SHARDS_TRACE_ASSEMBLER_H_
#define PARITECT_FORMATS_SHARDS_TRACE_ASSEMBLER_H_

#include <string>
#include <vector>

#include "formats/shards/shard_format.h"
#include "formats/shards/trace_records.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

struct TraceLists {
  ShardLists lists;                            // format "trace"; node: the host that recorded, where hosts are several
  std::vector<v1::DirectoryListing> listings;  // one a folder, names with the folder, note "live"
};

// `world_size`: stated by the plan; 0: not.
TraceLists AssembleTrace(const std::vector<TraceFile>& files, int world_size);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_TRACE_ASSEMBLER_H_
