// What the server tells its operator: one line a fact, on standard error, for the journal. What was called is also in
// the chained log of calls (call_log.h); this one is to be read as it comes, and by programs.
//
//   text  2026-12-01T12:00:00Z warning Join refused peer=10.0.0.7 subject=gpu-01 why="this token is not known here"
//   json  {"time":"2026-12-01T12:00:00Z","level":"warning","message":"Join refused","peer":"10.0.0.7",...}
#ifndef PARITECT_SERVER_SERVER_LOG_H_
#define PARITECT_SERVER_SERVER_LOG_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "server/wall_clock.h"

namespace paritect {

enum class LogLevel { kInfo, kWarning, kError };

// Thread-safe. `out` must outlive it.
class ServerLog {
 public:
  enum class Form { kText, kJson };
  // Names in the order in which they are to be told; those with an empty value are left out.
  using Fields = std::vector<std::pair<absl::string_view, std::string>>;

  ServerLog(std::ostream& out, Form form, WallClock clock) : out_(out), form_(form), clock_(std::move(clock)) {}

  void Write(LogLevel level, absl::string_view message, const Fields& fields = {});

 private:
  std::ostream& out_;
  const Form form_;
  const WallClock clock_;
  absl::Mutex mutex_;
};

// An entry of the log of calls. Readings that were answered are not told: they change nothing.
void TellCall(ServerLog& log, const v1::AuditLogEntry& entry);
// The end of an audit's run, with its verdict.
void TellRun(ServerLog& log, const v1::AuditRun& run);

}  // namespace paritect

#endif  // PARITECT_SERVER_SERVER_LOG_H_
