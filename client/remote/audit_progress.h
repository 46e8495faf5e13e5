// A running audit as people and programs watch it: what each node has done, as bars, lines or JSON lines.
#ifndef PARITECT_CLIENT_REMOTE_AUDIT_PROGRESS_H_
#define PARITECT_CLIENT_REMOTE_AUDIT_PROGRESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/command.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// One node of one side; several plans on it are one row. Silent nodes are rows like all others.
struct NodeProgress {
  std::string node;
  bool migrated = false;
  v1::NodeTaskState state = v1::NODE_TASK_STATE_WAITING;
  std::string detail;  // why it refused, ...
  std::string stage;   // of the plan that runs: "datasets", ...
  std::string current;
  std::int64_t files_done = 0;
  std::int64_t files_total = 0;  // 0: not known yet
  std::int64_t bytes_done = 0;
  std::int64_t bytes_total = 0;
  std::int64_t rate_bytes_per_s = 0;
  std::int64_t last_seen_unix_ms = 0;  // 0: never

  std::optional<double> fraction() const;  // of the bytes, or of the files where no bytes are known
  std::optional<std::int64_t> seconds_left() const;
};

// In the order of the run's tasks.
std::vector<NodeProgress> ProgressRows(const v1::AuditRun& run);

// "resnet50 run 3: collecting, 2 of 5 nodes done, 1 silent, 12s"
std::string ProgressHeadline(const v1::AuditRun& run, std::int64_t now_unix_ms,
                             Language language = Language::kEnglish);

// The headline and one line a node, at most size.rows - 1 lines of at most size.columns - 1 columns. What needs a look
// comes first: silent, refused, running, waiting, done; what does not fit is counted in the last line.
std::vector<std::string> ProgressBlock(const v1::AuditRun& run, std::int64_t now_unix_ms, TerminalSize size,
                                       bool ascii, Language language = Language::kEnglish);

class AuditWatcher {
 public:
  virtual ~AuditWatcher() = default;
  virtual void Show(const v1::AuditRun& run) = 0;  // also the last state
  virtual void Note(const std::string& text) = 0;  // "the connection was lost; trying again"
};

enum class WatchStyle { kQuiet, kBars, kLines, kJson };

// Bars on a terminal that can move its cursor (TERM is not "dumb"), lines on one that cannot, JSON lines elsewhere.
WatchStyle ChooseWatchStyle(const CommandEnv& env, bool is_terminal);

// Writes to `out`, which is env.out or env.err. Both must outlive it.
std::unique_ptr<AuditWatcher> NewAuditWatcher(CommandEnv& env, WatchStyle style, std::ostream& out);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_AUDIT_PROGRESS_H_
