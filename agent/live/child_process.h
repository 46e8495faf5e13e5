// A short-lived child with a time limit and bounded output: how vendor libraries and tools are asked, because they
// can hang or crash. No shell, no search path, no inherited environment.
#ifndef PARITECT_AGENT_LIVE_CHILD_PROCESS_H_
#define PARITECT_AGENT_LIVE_CHILD_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace paritect {

struct ChildCommand {
  std::vector<std::string> words;        // words[0]: absolute path of the program
  std::vector<std::string> environment;  // "NAME=VALUE"; nothing else is there
  absl::Duration time_max = absl::Seconds(10);
  std::size_t output_bytes_max = 1 << 20;
};

struct ChildResult {
  std::string output;  // standard output; standard error goes nowhere
  int exit_code = 0;
};

// Runs the command to its end, its standard input being empty, in a process group of its own.
//   NotFound           no such program
//   PermissionDenied   it may not be run
//   DeadlineExceeded   it did not end in time: the group was killed. A child that does not even die (it hangs in
//                      the driver) is left behind; while it is there, no other is started (Unavailable).
//   ResourceExhausted  more output than allowed: killed
//   Aborted            it was ended by a signal (crashed); the message names it
// Thread-safe.
absl::StatusOr<ChildResult> RunChild(const ChildCommand& command);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_CHILD_PROCESS_H_
