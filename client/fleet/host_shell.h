// A shell on other hosts, through the user's own ssh: his keys, his configuration, his jump hosts. Scripts and secrets
// go by standard input, never as words of a command line that a list of processes shows.
#ifndef PARITECT_CLIENT_FLEET_HOST_SHELL_H_
#define PARITECT_CLIENT_FLEET_HOST_SHELL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paritect {

struct HostCall {
  std::string script;                  // of the POSIX shell; what follows it on standard input is for it to read
  std::vector<std::string> arguments;  // $1, $2, …; letters, digits and _ . / @ % + : = , - only
  std::string payload;                 // what follows the script
  std::string payload_file;            // and then this file
};

// InvalidArgument: the word holds a letter that a shell would not take as it is.
absl::Status CheckShellWord(absl::string_view word);

class HostShell {
 public:
  virtual ~HostShell() = default;
  // What the script printed, standard error with it. Unavailable: the host was not reached, with ssh's words;
  // DeadlineExceeded; FailedPrecondition: the script ended with another code than 0, with its last lines.
  // Thread-safe.
  virtual absl::StatusOr<std::string> Run(const std::string& host, const HostCall& call) = 0;
};

struct SshOptions {
  std::string program;               // absolute path of ssh
  std::vector<std::string> options;  // as after -o
  bool sudo = false;
  absl::Duration time_max = absl::Minutes(10);
};

class SshShell : public HostShell {
 public:
  explicit SshShell(SshOptions options) : options_(std::move(options)) {}
  ~SshShell() override;
  absl::StatusOr<std::string> Run(const std::string& host, const HostCall& call) override;

 private:
  absl::StatusOr<int> OpenInput(const HostCall& call);

  const SshOptions options_;
  absl::Mutex mutex_;
  std::map<std::string, int> prepared_ ABSL_GUARDED_BY(mutex_);  // script and file together, by the file's name
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_HOST_SHELL_H_
