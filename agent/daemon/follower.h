// Follows the logs of running trainings for live comparison: one thread that sleeps nearly always, and none while there
// is nothing to follow.
//
// Each task (Task.follow) gives step chunks as its logs grow and, when all of them have ended, a TaskEnd without pieces
// that says how. A log that had ended before it was looked at gives no chunk: its report tells it all. After a restart
// of the agent the server asks again, and the logs are read from their beginning but told from where they were left
// (told_steps.h); those that are read as a whole (JSON documents, folders) are told again.
#ifndef PARITECT_AGENT_DAEMON_FOLLOWER_H_
#define PARITECT_AGENT_DAEMON_FOLLOWER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/collectors/log_tail.h"
#include "agent/daemon/agent_log.h"
#include "agent/daemon/cancellation.h"
#include "agent/daemon/recorder.h"
#include "agent/daemon/task_runner.h"
#include "agent/daemon/told_steps.h"
#include "agent/harmless.h"
#include "common/rooted_file_system.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

struct FollowerOptions {
  std::int64_t poll_ms = 1000;
  std::int64_t list_ms = 10'000;           // new files of a pattern are looked for so often
  std::int64_t quiet_ms = 10'000;          // a run that says it ended and writes nothing for so long has ended
  std::int64_t idle_start_ms = 3'600'000;  // a log that nobody wrote to for so long is not live
  std::int64_t idle_ms = 86'400'000;       // a followed log that nobody writes to is given up
};

// Thread-safe. The borrowed parts must outlive it.
class Follower {
 public:
  struct Ports {
    std::function<TaskBounds()> bounds;
    std::function<std::int64_t()> steady_ms;
    std::function<std::int64_t()> wall_ms;
    std::string told_file = {};  // as in ToldSteps
    std::uint64_t epoch = 0;     // of the spool
  };
  Follower(Recorder& recorder, AgentLog& log, std::string node, std::string program, Ports ports,
           FollowerOptions options = {});
  ~Follower();  // Shutdown

  // A task that is followed already is not taken twice.
  void Add(const v1::Task& task);
  void Cancel(const std::string& task_id);
  // Stops without a TaskEnd: the tasks will be asked for again.
  void Shutdown();

 private:
  struct Source {
    std::unique_ptr<LogTail> tail;
    std::optional<std::int32_t> rank;
    bool told = false;  // chunks of it were sent
    std::string ended;  // finished, aborted, idle; empty: followed
  };
  struct Followed {
    v1::Task task;
    std::shared_ptr<Cancellation> cancellation;
    TaskBounds bounds;
    std::unique_ptr<RootedFileSystem> rooted;
    std::shared_ptr<BandwidthLimit> bandwidth;  // of all tasks together
    std::unique_ptr<LimitedFileSystem> fs;
    std::vector<Source> sources;
    std::set<std::string> paths;
    std::int64_t started_ms = 0;
    std::int64_t list_due_ms = 0;
    bool behind = true;  // not read to the end yet
    bool too_many = false;  // logs; said once
  };

  void Loop();
  void WaitWhileFollowing(absl::Duration time);
  void List(Followed& one);
  void AddSource(Followed& one, const v1::LogSource& source, std::vector<std::string> paths,
                 std::optional<std::int32_t> rank);
  // True: it has ended, and its TaskEnd was recorded.
  bool Look(Followed& one);
  void LookAt(Followed& one, Source& source);
  std::string EndOf(const Followed& one, const Source& source) const;
  absl::Status Send(Followed& one, const Source& source, LogTailUpdate update);
  bool Finish(Followed& one, const std::string& ended, bool cancelled);

  Recorder& recorder_;
  AgentLog& log_;
  const std::string node_;
  const std::string program_;
  const Ports ports_;
  const FollowerOptions options_;
  Cancellation shutdown_;
  // Of the thread alone.
  std::shared_ptr<BandwidthLimit> bandwidth_;
  Cancellation* looked_at_ = nullptr;
  ToldSteps told_;

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Followed>> followed_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;  // the thread looks at followed_
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_FOLLOWER_H_
