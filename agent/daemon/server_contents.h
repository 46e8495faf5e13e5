// What the server holds already, asked over the session before anything is spooled.
#ifndef PARITECT_AGENT_DAEMON_SERVER_CONTENTS_H_
#define PARITECT_AGENT_DAEMON_SERVER_CONTENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon/cancellation.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// An answer saves bytes and nothing else: without one (no connection, an older server, a server that is busy) what was
// asked about counts as not held, and is sent. Thread-safe; one thread asks at a time.
class ServerContents {
 public:
  struct Ports {
    std::function<void(v1::ContentQuestion)> ask;  // sends it, if there is a connection
    // A connection that broke is waited for so long; so long an answer may take.
    absl::Duration patience = absl::Seconds(20);
  };
  explicit ServerContents(Ports ports) : ports_(std::move(ports)) {}

  // `digests_max`: of a question, as the server's Welcome says; 0: it answers none.
  void OnConnected(int digests_max);
  void OnDisconnected();
  void OnAnswer(const v1::ContentAnswer& answer);

  // Whether questions are answered; a connection that comes within the patience counts.
  bool Answers(Cancellation& cancellation);
  // One bool a digest (raw SHA-256). `level`: as in ContentPart. Nothing that was not answered is held.
  std::vector<bool> Held(const std::string& task_id, const std::vector<std::string>& digests, int level,
                         Cancellation& cancellation);

 private:
  std::optional<std::string> Ask(v1::ContentQuestion question, Cancellation& cancellation);

  const Ports ports_;
  absl::Mutex mutex_;
  bool online_ ABSL_GUARDED_BY(mutex_) = false;
  int digests_max_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::ContentQuestion open_ ABSL_GUARDED_BY(mutex_);  // id 0: none
  std::optional<std::string> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_SERVER_CONTENTS_H_
