// Runs one task: what its plan names, read through the allowed roots, taken apart, into the spool.
#ifndef PARITECT_AGENT_DAEMON_TASK_RUNNER_H_
#define PARITECT_AGENT_DAEMON_TASK_RUNNER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/daemon/agent_log.h"
#include "agent/daemon/cancellation.h"
#include "agent/daemon/recorder.h"
#include "agent/daemon/server_contents.h"
#include "agent/harmless.h"
#include "agent/live/live_node.h"
#include "paritect/v1/fleet.pb.h"
#include "rules/rules.h"

namespace paritect {

// What bounds a task on this node, whatever it asks. Copied at its start.
struct TaskBounds {
  std::vector<std::string> roots;
  std::uint64_t bytes_per_second = 0;      // 0: no limit
  std::vector<std::string> in_clear = {};  // as in CollectorEnv; what a task's plan says of it does not count
};

struct TaskPorts {
  const LiveNode* live = nullptr;  // the node that is read; nullptr: none
  std::function<std::int64_t()> wall_ms;
  // `last`: nothing follows but the end of the task.
  std::function<void(const v1::TaskProgress&, bool last)> progress;
  std::string digest_cache = {};       // as in CollectorEnv
  ServerContents* contents = nullptr;  // what the server holds already; nullptr: everything is sent
};

// Thread-compatible; the borrowed parts must outlive it.
class TaskRunner {
 public:
  TaskRunner(const Rules& rules, Recorder& recorder, AgentLog& log, std::string node, std::string program,
             TaskPorts ports)
      : rules_(rules),
        recorder_(recorder),
        log_(log),
        node_(std::move(node)),
        program_(std::move(program)),
        ports_(std::move(ports)) {}

  // TaskBegin, parts and pieces, TaskEnd; gives the number of the TaskEnd. A task that was cancelled or whose time is
  // over ends with a TaskEnd that says so. Cancelled: the agent shuts down (`shutdown` and `cancellation` are stopped),
  // there is no TaskEnd and the task has to be run again.
  absl::StatusOr<std::uint64_t> Run(const v1::Task& task, const TaskBounds& bounds, Cancellation& cancellation,
                                    Cancellation& shutdown);

  // Evidence that somebody else collected on this node, as a run that the node recorded by itself. The run's node is
  // this one, whatever the bundle says.
  absl::Status Deliver(v1::Bundle bundle, Cancellation& stop);

  // The end of a task that never began.
  absl::StatusOr<std::uint64_t> End(const v1::Task& task, Cancellation& shutdown);

 private:
  const Rules& rules_;
  Recorder& recorder_;
  AgentLog& log_;
  const std::string node_;
  const std::string program_;
  const TaskPorts ports_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_TASK_RUNNER_H_
