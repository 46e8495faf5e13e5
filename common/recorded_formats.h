// Names of the two formats that this product itself records, as evidence bears them (`format` of ShardList, Settings,
// RunLog and Weights): readers write them, checks and commands ask for them. Formats of others are named by the table
// of their readers.
#ifndef PARITECT_COMMON_RECORDED_FORMATS_H_
#define PARITECT_COMMON_RECORDED_FORMATS_H_

namespace paritect {

// A trace of opened files: shard lists only (formats/shards/trace_assembler.h).
inline constexpr char kTraceFormat[] = "trace";
// What the observer recorded inside a process (formats/observer/observed_run.h): settings, steps, lists, weights.
inline constexpr char kObservedFormat[] = "observed";

}  // namespace paritect

#endif  // PARITECT_COMMON_RECORDED_FORMATS_H_
