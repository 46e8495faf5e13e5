// What a spool's folder holds when it is opened: every header and record is read once, and the numbers are settled.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_RECOVERY_H_
#define PARITECT_AGENT_SPOOL_SPOOL_RECOVERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/spool/spool_index.h"
#include "agent/spool/spool_io.h"
#include "agent/spool/spool_state.h"

namespace paritect {

struct RecoveredSpool {
  spool_format::Slot slot;  // slot.reserved is the next number to give
  bool save = false;        // the state on disk is not this
  SpoolIndex index;         // skips included
  NumberRange skip;         // numbers between the last that may be used and the next, to be told by a new segment
  std::uint64_t foreign_files = 0;
};

// The rules, in order:
// - The epoch is the state's; without a state, the one that most segments name; without segments, a new one.
// - A segment of another epoch, or whose header and name differ, is foreign: left alone, counted. One without a header
//   is still searched for records, which are bound to epoch and name.
// - What was accepted ends at the highest number that a record, the state or the mark tells.
// - The next number is the state's reservation. Without a state it is 2^48 above everything seen, far more than a spool
//   can have used since it wrote what is left of it.
// Records that are not known to be synced are written again and synced before they count. Errors are the disk's;
// DataLoss where the numbers of the epoch are used up.
absl::StatusOr<RecoveredSpool> RecoverSpool(const std::string& directory, SpoolIo& io, const SpoolState::Loaded& loaded,
                                            bool sync);

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_RECOVERY_H_
