// Records of libparitect-trace.so and of `paritect attach` (agent/trace/trace.h has the grammar): bytes in, what each
// program image did out. Names are bytes.
#ifndef PARITECT_FORMATS_SHARDS_TRACE_RECORDS_H_
#define PARITECT_FORMATS_SHARDS_TRACE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

inline constexpr absl::string_view kTraceMagic = "paritect-trace ";

// What the variables of a process say of its place in the job.
struct TraceRank {
  std::optional<std::int32_t> rank;
  std::optional<std::int32_t> world_size;
  std::int32_t restarts = 0;  // torchelastic's count
  // Variables that disagree on the rank: "OMPI_COMM_WORLD_RANK=3 (openmpi) counts, not RANK_ID=0 (ascend)".
  std::string disagreement;
  // A variable tells the rank within the node, or that the launcher started several there: the rank is a process's.
  // Else a launcher of nodes may have given one rank to a whole node (srun with one task a node, then mp.spawn).
  bool local = false;
};

struct TraceOpen {
  std::int64_t at_ns = 0;  // monotonic clock of the node
  std::string path;
  TraceRank rank;           // as the variables stood then
  std::int64_t thread = 0;  // 0: the first of the process
};

struct TraceListing {
  std::string folder;
  std::vector<std::string> names;  // as the program got them
  bool whole = false;              // read to its end, and all of it recorded
  bool sorted = false;             // sorted by the call itself
};

// One process, from a fork or exec on.
struct TraceImage {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::int64_t start = 0;  // clock ticks since boot
  std::string host;
  std::string executable;
  std::optional<bool> executed;                                  // began by exec; false: by fork; nullopt: not told
  std::vector<std::pair<std::int64_t, std::int64_t>> ancestors;  // pid, start; nearest first
  TraceRank rank;                                                // as it ended
  std::vector<TraceOpen> opens;
  std::vector<TraceListing> listings;
  std::vector<std::string> unseen;  // programs that it started and that cannot be recorded
  std::vector<std::pair<std::string, std::int32_t>> unseen_ranks;  // of these, those that it gave a rank
  std::int64_t lost = 0;                                           // records
  bool full = false;
  bool stopped = false;      // it put itself under a filter of system calls: what came later is not known
  bool once = false;         // of `attach`: each file stands once, however often it was opened
  bool joined_late = false;  // of `attach`: it ran before it was recorded
};

struct TraceFile {
  std::vector<TraceImage> images;
  std::int64_t damaged = 0;  // records that are none: cut off, or of a newer program
};

// Unimplemented: another version. A damaged record is counted, never fatal.
absl::StatusOr<TraceFile> ReadTraceFile(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_TRACE_RECORDS_H_
