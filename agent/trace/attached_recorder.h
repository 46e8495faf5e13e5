// Records the file opens of a job that already runs: containers, static programs and programs without our environment
// too. Needs root: a fanotify mark on the file systems of the data, events told apart by (device, inode), for a path
// means something else in another mount namespace. Without root it looks at /proc/PID/fd of the job again and again,
// which sees what stays open (mapped files, record files) and misses what is opened and closed at once.
//
// The kernel merges events that wait in its queue, so a file is written down once a process: first opens in their
// order, no counts. Processes that were there before the recording are marked: what they had read is not known. A full
// queue marks every process as incomplete.
#ifndef PARITECT_AGENT_TRACE_ATTACHED_RECORDER_H_
#define PARITECT_AGENT_TRACE_ATTACHED_RECORDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace paritect {

struct AttachOptions {
  std::vector<int> pids;           // the job: these and their descendants
  std::vector<std::string> roots;  // of the data, absolute
  std::string folder;              // for the records (*.ptrace)
  absl::Duration time_max = absl::InfiniteDuration();
  // Keep to the kernel's limit of queued events (fs.fanotify.max_queued_events): less memory where the recorder gets no
  // processor; a full queue makes the lists incomplete. Else the queue has no limit.
  bool bounded_queue = false;
};

struct AttachSummary {
  bool privileged = false;     // fanotify; else looks at /proc
  std::int64_t opens = 0;      // written down
  std::int64_t processes = 0;  // that opened data
  std::int64_t files = 0;      // of the data, known by their inodes
  bool overflow = false;
};

// Records until the job has ended, the time is over, or `stop` says so (asked a few times a second). NotFound: no such
// process, or no file below the roots; PermissionDenied: neither way is allowed.
absl::StatusOr<AttachSummary> RecordAttached(const AttachOptions& options, absl::FunctionRef<bool()> stop);

}  // namespace paritect

#endif  // PARITECT_AGENT_TRACE_ATTACHED_RECORDER_H_
