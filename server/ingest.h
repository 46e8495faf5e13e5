// What a batch of an agent means for the store: a pure function, no I/O and no clock.
//
// Exactly once in effect: records of a node's epoch are taken in the order of their numbers, each once. What was taken
// before is skipped; where a number is missing, the batch is taken up to there and the rest asked for again. The agent
// states what it has lost (a gap); what it sends and cannot be kept as what it says is refused, recorded as such and
// passed over: one bad record neither stops a node nor vanishes.
#ifndef PARITECT_SERVER_INGEST_H_
#define PARITECT_SERVER_INGEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/evidence_parts.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

struct IngestLimits {
  std::size_t batch_bytes = 8u << 20;  // above the largest record that an agent's spool takes (4 MiB)
  std::size_t part_bytes = kContentPartBytesMax;
  int envelopes = 100'000;
};

struct IngestResult {
  WriteSet set;                              // one batch and what follows from it; empty: nothing new
  v1::Watermark watermark;                   // once `set` is durable
  std::optional<std::uint64_t> resend_from;  // a hole: records at and after this number are wanted again
  std::vector<v1::TaskEnd> ended;            // tasks that ended, for whoever waits; the epoch is filled in
  std::vector<v1::StepChunk> steps;          // of logs that a task follows
  std::int64_t records = 0;                  // taken and understood
  std::int64_t duplicates = 0;               // skipped
  std::int64_t refused = 0;
  std::int64_t lost = 0;  // by the agent's own statement
};

// `node`: the name in the certificate. `watermark`: of the node and the batch's epoch; empty: nothing was stored yet.
//
// What `set` holds, beside the batch itself (its parts replaced by their digests):
//   content     parts whose SHA-256 fits; the batch refers to them, so that they last until their piece comes
//   piece       TASK/NODE/EPOCH/ATTEMPT/INDEX, refers to its parts       task_end  TASK/NODE, with the epoch filled in
//   event, gap  NODE/EPOCH/SEQUENCE                                      series    RUN/RANK/NODE, of its newest chunk
//   watermark   NODE/EPOCH
// Reasons of refused records: unparsable, unknown_payload, digest_differs, part_too_large, bad_node, bad_piece,
// bad_task_end, bad_steps, bad_gap, name_too_long, no_sequence.
//
// ResourceExhausted: the batch is above a limit. InvalidArgument: a node name that cannot be stored.
absl::StatusOr<IngestResult> IngestBatch(absl::string_view node, const v1::Watermark& watermark, const v1::Batch& batch,
                                         std::int64_t received_unix_ms, const IngestLimits& limits = {});

}  // namespace paritect

#endif  // PARITECT_SERVER_INGEST_H_
