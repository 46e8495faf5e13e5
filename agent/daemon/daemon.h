// The per-node daemon: one loop that keeps the session, the certificate and the configuration, and one thread that
// collects. Everything that waits for the server lies in the spool; a kill at any moment costs at most the work of the
// task that was running, which is then done again.
#ifndef PARITECT_AGENT_DAEMON_DAEMON_H_
#define PARITECT_AGENT_DAEMON_DAEMON_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/daemon/agent_config.h"
#include "agent/daemon/agent_log.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/follower.h"
#include "agent/daemon/local_intake.h"
#include "agent/daemon/own_plans.h"
#include "agent/daemon/recorder.h"
#include "agent/daemon/renewal.h"
#include "agent/daemon/task_queue.h"
#include "agent/daemon/task_runner.h"
#include "agent/daemon/wake_loop.h"
#include "agent/spool/spool.h"
#include "agent/uplink/grpc_transport.h"
#include "agent/uplink/uplink.h"
#include "common/credential.h"
#include "rules/rules.h"

namespace paritect {

struct DaemonOptions {
  AgentState state;
  std::string config_path;  // read again on SIGHUP
  AgentConfig config;
  LoadedCredential credential;
  std::string program;             // "paritect-agent 0.1.0"
  const LiveNode* live = nullptr;  // must outlive the daemon
};

// Reads the configuration at `path`. InvalidArgument "FILE:LINE:COLUMN: message"; NotFound.
absl::StatusOr<AgentConfig> LoadAgentConfig(absl::string_view path);

class AgentDaemon {
 public:
  enum class End {
    kStopped,
    kStuck,     // a read does not return: end the process without waiting for it
    kNewSpool,  // the spool was put back to an earlier state: make a new one and start again
  };

  // FailedPrecondition: another agent holds the spool. `loop`, `rules` and `log` must outlive it.
  static absl::StatusOr<std::unique_ptr<AgentDaemon>> Make(DaemonOptions options, WakeLoop& loop, const Rules& rules,
                                                           AgentLog& log);

  // Until SIGTERM or SIGINT.
  End Run();

 private:
  AgentDaemon(DaemonOptions options, std::unique_ptr<Spool> spool, WakeLoop& loop, const Rules& rules, AgentLog& log);

  UplinkPorts MakePorts();
  v1::Hello MakeHello();
  void OnDisconnected(const std::string& server, const absl::Status& status, std::int64_t retry_ms);
  void OnTaskEnded(const std::string& id);
  void NoteStart();
  // Each gives the time until it wants to be called again.
  std::int64_t Housekeep();
  std::int64_t WatchClock();
  void WatchCredential();
  std::int64_t WatchSpool(std::int64_t now);
  std::int64_t RenewCertificate();
  std::int64_t RunOwnPlans();
  void OpenIntake();
  void Adopt(const Credential& credential);
  void Use(const Credential& credential);
  void RereadCredential();
  void Reload();
  End Finish();
  TaskBounds Bounds();
  std::vector<std::string> Servers(const Credential& credential);

  DaemonOptions options_;
  WakeLoop& loop_;
  AgentLog& log_;
  absl::Mutex mutex_;
  AgentConfig config_ ABSL_GUARDED_BY(mutex_);

  const std::unique_ptr<Spool> spool_;
  Recorder recorder_;
  GrpcTransport transport_;
  std::unique_ptr<Uplink> uplink_;
  ServerContents contents_;
  TaskRunner runner_;
  std::unique_ptr<TaskQueue> queue_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Renewal> renewal_;
  OwnPlans own_plans_;
  std::unique_ptr<LocalIntake> intake_;  // nullptr: the socket could not be made

  std::int64_t clock_offset_ms_ = 0;  // wall minus steady
  std::int64_t expire_due_ms_ = 0;
  std::int64_t mend_due_ms_ = 0;
  std::string credential_stamp_;  // of the file as it was read last
  std::atomic<std::int64_t> release_due_ms_ = 0;
  std::string last_trouble_;  // that was logged
  std::int64_t last_trouble_ms_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_DAEMON_H_
