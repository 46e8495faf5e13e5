// `trace:` of a plan: what libparitect-trace.so recorded on this node.
#ifndef PARITECT_AGENT_COLLECTORS_SHARD_TRACE_H_
#define PARITECT_AGENT_COLLECTORS_SHARD_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/collector.h"

namespace paritect {

// Unpacked. It is held in memory, of which the agent's unit has 1 GiB (deploy/agent).
inline constexpr std::uint64_t kShardFileBytesMax = std::uint64_t{512} << 20;

// The bytes of a list, inflated where it is compressed. DataLoss: the compressed file is cut off.
absl::StatusOr<std::string> ReadShardBytes(FileSystem& fs, const std::string& path);

// How the recorder's files end.
inline constexpr absl::string_view kTraceEndings[] = {".ptrace", ".ptrace.gz"};

// The lists of all ranks that the record files (*.ptrace, in the folders that `source.trace()` names) tell of, and the
// order in which the training saw its folders. The recorder's own folder may be named, or one above it.
void CollectShardTrace(const CollectorEnv& env, const v1::Plan& plan, const v1::ShardSource& source, EvidenceSink sink);

// Says in the list (note "role_train", "role_validation") what the plan declares its data set to be.
void NoteDatasetRole(const v1::Plan& plan, absl::string_view dataset, v1::ShardList& list);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_SHARD_TRACE_H_
