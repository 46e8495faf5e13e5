// A short-lived child with a time limit and bounded output: how vendor libraries and tools are asked, and how formats
// are read whose library is not trusted with the file, because they can hang or crash. No shell, no search path, no
// inherited environment.
#ifndef PARITECT_COMMON_CHILD_PROCESS_H_
#define PARITECT_COMMON_CHILD_PROCESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paritect {

struct ChildCommand {
  std::vector<std::string> words;        // words[0]: absolute path of the program
  std::vector<std::string> environment;  // "NAME=VALUE"; nothing else is there
  absl::Duration time_max = absl::Seconds(10);
  std::uint64_t output_bytes_max = 1 << 20;
  int input = -1;  // a descriptor that becomes its standard input; -1: that is empty
  bool with_errors = false;  // standard error goes where standard output goes
};

struct ChildResult {
  std::string output;  // standard output; standard error goes nowhere, unless asked for
  int exit_code = 0;
};

// Runs the command to its end in a process group of its own.
//   NotFound           no such program
//   PermissionDenied   it may not be run
//   DeadlineExceeded   it did not end in time: the group was killed. A child that does not even die (it hangs in
//                      the driver) is left behind; while it is there, no other is started (Unavailable).
//   ResourceExhausted  more output than allowed: killed
//   Aborted            it was ended by a signal (crashed); the message names it
// Thread-safe.
absl::StatusOr<ChildResult> RunChild(const ChildCommand& command);

// As above; the output goes to `sink` as it comes, and ChildResult::output stays empty. An error of the sink ends the
// child and is given back.
absl::StatusOr<ChildResult> RunChild(const ChildCommand& command,
                                     absl::FunctionRef<absl::Status(absl::string_view block)> sink);

// The absolute path of a program of ours: beside the one that runs, or where packages put helpers; "" if it is in
// neither place.
std::string FindHelperProgram(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_COMMON_CHILD_PROCESS_H_
