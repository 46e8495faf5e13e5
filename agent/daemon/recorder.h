// Puts records into the spool; where it is full or its disk fails, waits rather than loses.
#ifndef PARITECT_AGENT_DAEMON_RECORDER_H_
#define PARITECT_AGENT_DAEMON_RECORDER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/daemon/cancellation.h"
#include "agent/spool/spool.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

struct RecorderPorts {
  std::function<std::int64_t()> wall_ms;
  std::function<void()> wake;  // records are there to be sent
  absl::Duration retry = absl::Seconds(1);
};

// Thread-safe.
class Recorder {
 public:
  // The spool must outlive it.
  Recorder(Spool& spool, RecorderPorts ports) : spool_(spool), ports_(std::move(ports)) {}

  // Makes the records durable, all in one go, and returns the number of the last; the time of observation is filled in.
  // `waiting` is told every time it must wait, and why. Cancelled: it was stopped while it waited.
  absl::StatusOr<std::uint64_t> Put(RecordClass record_class, absl::Span<v1::Record> records,
                                    Cancellation& cancellation,
                                    absl::FunctionRef<void(const absl::Status& why)> waiting);
  // The same without waiting.
  absl::StatusOr<std::uint64_t> TryPut(RecordClass record_class, absl::Span<v1::Record> records);

  // kind in snake_case; a failure is dropped: events are news, not evidence.
  void PutEvent(absl::string_view kind, absl::string_view detail);

 private:
  std::vector<NewRecord> Serialize(absl::Span<v1::Record> records) const;

  Spool& spool_;
  const RecorderPorts ports_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_RECORDER_H_
