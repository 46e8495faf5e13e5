// The daemon's log: one line an event on standard error, with UTC time; journald and files read it alike.
#ifndef PARITECT_AGENT_DAEMON_AGENT_LOG_H_
#define PARITECT_AGENT_DAEMON_AGENT_LOG_H_

#include <ostream>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paritect {

// Thread-safe. "2026-11-30T10:00:00Z info connected to audit:7400". Line ends and other control characters of a
// message are escaped; what a server or a file name says cannot forge a line.
class AgentLog {
 public:
  AgentLog(std::ostream& out, bool verbose) : out_(out), verbose_(verbose) {}

  void Info(absl::string_view message) { Put("info", message); }
  void Warning(absl::string_view message) { Put("warning", message); }
  void Error(absl::string_view message) { Put("error", message); }
  void Detail(absl::string_view message) {
    if (verbose_) Put("detail", message);
  }
  bool verbose() const { return verbose_; }

 private:
  void Put(absl::string_view level, absl::string_view message);

  absl::Mutex mutex_;
  std::ostream& out_ ABSL_GUARDED_BY(mutex_);
  const bool verbose_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_AGENT_LOG_H_
