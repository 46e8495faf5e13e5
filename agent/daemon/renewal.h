// Renews the agent's certificate in good time. The call runs on a thread of its own, one at a time.
#ifndef PARITECT_AGENT_DAEMON_RENEWAL_H_
#define PARITECT_AGENT_DAEMON_RENEWAL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/credential.h"

namespace paritect {

// All methods but the callbacks' own work belong to one thread.
class Renewal {
 public:
  // Asks a server; blocks, on the renewal's thread.
  using Ask = std::function<absl::StatusOr<Credential>(const Credential&)>;
  struct Ports {
    Ask ask;
    std::function<double()> random;  // [0, 1)
    std::function<void()> wake;      // any thread: Poll has something to do
  };

  Renewal(LoadedCredential loaded, Ports ports);
  ~Renewal();  // waits for a call that is under way

  // Starts a call that is due, or gives the answer of one; the answer is used from then on for the next. `now`: Unix
  // seconds. An error is news for the log; the next try follows by itself.
  std::optional<absl::StatusOr<Credential>> Poll(std::int64_t now);
  // Another credential is in use now (the node joined again, another tool renewed it).
  void Replace(const LoadedCredential& loaded);
  std::int64_t due() const { return due_; }  // Unix seconds
  std::int64_t not_after() const { return not_after_; }

 private:
  void Plan(std::int64_t not_before, std::int64_t not_after, std::int64_t now);

  Credential credential_;
  const Ports ports_;
  std::int64_t not_after_ = 0;
  std::int64_t due_ = 0;
  bool asking_ = false;
  std::thread thread_;
  absl::Mutex mutex_;
  std::optional<absl::StatusOr<Credential>> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_RENEWAL_H_
