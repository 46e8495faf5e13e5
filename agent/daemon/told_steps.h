// How far the followed logs were told, kept on disk, so that an agent that starts again goes on where it was and does
// not send them from their beginning.
//
// Of each log of a task the last step that was made durable is known by its digest. A log that is read again is told
// from that step on; where it is not found (the log was written anew), or the spool is another one, all is told again.
// The file may lag a few seconds behind: what was told since is told twice, which the server takes as it is.
#ifndef PARITECT_AGENT_DAEMON_TOLD_STEPS_H_
#define PARITECT_AGENT_DAEMON_TOLD_STEPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/run_stats.pb.h"

namespace paritect {

// Not thread-safe.
class ToldSteps {
 public:
  // `path`: empty: nothing is kept. A file that cannot be read, or is of another spool, is as none.
  ToldSteps(std::string path, std::uint64_t epoch);

  // Whether the log was told before this program began.
  bool WasTold(absl::string_view task, absl::string_view source) const;
  // Leaves out what was told before this program began; at the first call for a log.
  void DropTold(absl::string_view task, absl::string_view source, std::vector<v1::StepRecord>& steps);
  // The steps are durable in the spool.
  void Told(absl::string_view task, absl::string_view source, const v1::StepRecord& last);
  void Forget(absl::string_view task);

  // Writes the file where it is due (some seconds after the last time) or `now`. A failure is no loss: see above.
  void Save(std::int64_t steady_ms, bool now = false);

 private:
  using Key = std::pair<std::string, std::string>;  // task, source

  const std::string path_;
  const std::uint64_t epoch_;
  std::map<Key, std::string> last_;    // digests, as they are to be kept
  std::map<Key, std::string> before_;  // of the file, until the log was read once
  bool changed_ = false;
  std::int64_t saved_ms_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_TOLD_STEPS_H_
