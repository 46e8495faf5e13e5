// Takes evidence from programs of this machine: `paritect run` hands over what it recorded, and the server gets it as a
// recorded run. A socket in the file system; a bundle in (docs/bundle_format.md), a line out: "ok RUN" or "refused:
// WHY".
//
// The evidence was collected by its sender with its own rights: the agent reads no file for it. Who sends is told by
// the kernel: root, the agent's own user, and users that the configuration names.
#ifndef PARITECT_AGENT_DAEMON_LOCAL_INTAKE_H_
#define PARITECT_AGENT_DAEMON_LOCAL_INTAKE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon/agent_log.h"
#include "agent/daemon/cancellation.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

inline constexpr std::size_t kIntakeBytesMax = 256 << 20;  // larger ones go by `paritect import`

class LocalIntake {
 public:
  struct Ports {
    // Puts the evidence where it waits for the server. Called on a thread of the intake, one call at a time; `stop`
    // ends a wait.
    std::function<absl::Status(v1::Bundle bundle, Cancellation& stop)> take;
  };
  // `users`: numeric ids that may send besides root and the agent's own. The log must outlive it.
  static absl::StatusOr<std::unique_ptr<LocalIntake>> Open(const std::string& path, std::vector<std::int64_t> users,
                                                           Ports ports, AgentLog& log);
  ~LocalIntake();  // ends what is being taken, and removes the socket

 private:
  LocalIntake(std::string path, int listener, int stop[2], std::vector<std::int64_t> users, Ports ports, AgentLog& log);
  // One that sends; each has its thread, so that a silent one holds up nobody else.
  struct Sender {
    int connection = -1;
    std::int64_t user = 0;
    std::int64_t process = 0;
    bool done = false;
    std::thread thread;
  };

  void Loop();
  void Accept(int connection);
  // "" where the user may send now; else the refusal.
  std::string Refusal(std::int64_t user);
  void Serve(Sender& sender);
  std::string Answer(const Sender& sender);
  void Reap();

  const std::string path_;
  const int listener_;
  const int stop_[2];  // a pipe: its end wakes the thread
  const std::vector<std::int64_t> users_;
  const Ports ports_;
  AgentLog& log_;
  Cancellation cancellation_;
  absl::Mutex take_mutex_;
  absl::Mutex mutex_;
  std::list<Sender> senders_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_LOCAL_INTAKE_H_
