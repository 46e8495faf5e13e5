// Writes the hash-chained log of calls and refusals without making callers wait for the disk.
#ifndef PARITECT_SERVER_CALL_LOG_H_
#define PARITECT_SERVER_CALL_LOG_H_

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

struct LoggedCall {
  std::string actor;    // ROLE/NAME, or "-/ADDRESS" of a stranger
  std::string address;  // where the caller is; empty: the server itself
  std::string action;   // RPC or event
  std::string subject;
  std::string detail;
  bool often = false;  // what a holder could repeat without end also when nothing is wrong
};

// Thread-safe.
class CallLog {
 public:
  using Submit = std::function<absl::Status(WriteSet, std::function<void(absl::Status)>)>;

  using Tell = std::function<void(const v1::AuditLogEntry&)>;

  // `tell` gets each entry as it is written, without number and hashes; may be empty.
  CallLog(Submit submit, WallClock clock, Tell tell = {})
      : submit_(std::move(submit)), clock_(std::move(clock)), tell_(std::move(tell)) {}

  // An attacker's refusals are counted, not written one by one: at most one entry a second for each actor and action,
  // which tells how many there were. So are calls of the kind `often`.
  void Write(const LoggedCall& call, const absl::Status& outcome);

  // Entries that could not be handed over; a counter that is not zero is an error of the disk.
  std::int64_t lost() const { return lost_; }

 private:
  struct Repeats {
    std::int64_t written_ms = 0;
    std::int64_t held_back = 0;
  };

  // How many like it were held back before this one is written; nullopt: this one is held back too.
  std::optional<std::int64_t> HeldBackBefore(const LoggedCall& call, std::int64_t now);

  const Submit submit_;
  const WallClock clock_;
  const Tell tell_;
  std::atomic<std::int64_t> lost_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, Repeats> repeats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_CALL_LOG_H_
