// Writes the hash-chained log of calls and refusals without making callers wait for the disk.
#ifndef PARITECT_SERVER_CALL_LOG_H_
#define PARITECT_SERVER_CALL_LOG_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

// Thread-safe.
class CallLog {
 public:
  using Submit = std::function<absl::Status(WriteSet, std::function<void(absl::Status)>)>;

  CallLog(Submit submit, WallClock clock) : submit_(std::move(submit)), clock_(std::move(clock)) {}

  // An attacker's refusals are counted, not written one by one: at most one entry a second for each actor and action,
  // which tells how many there were.
  void Write(absl::string_view actor, absl::string_view action, absl::string_view subject, const absl::Status& outcome,
             absl::string_view detail = "");

  // Entries that could not be handed over; a counter that is not zero is an error of the disk.
  std::int64_t lost() const { return lost_; }

 private:
  struct Refusals {
    std::int64_t written_ms = 0;
    std::int64_t held_back = 0;
  };

  const Submit submit_;
  const WallClock clock_;
  std::atomic<std::int64_t> lost_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, Refusals> refusals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_CALL_LOG_H_
