#include "agent/daemon/agent_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/posix_file.h"

namespace paritect {

absl::StatusOr<AgentState> FindAgentState(absl::string_view named) {
  if (!named.empty()) return AgentState{std::string(named)};
  if (geteuid() == 0) return AgentState{"/var/lib/paritect-agent"};
  if (const char* state = getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return AgentState{absl::StrCat(state, "/paritect-agent")};
  }
  if (const char* home = getenv("HOME"); home != nullptr && home[0] == '/') {
    return AgentState{absl::StrCat(home, "/.local/state/paritect-agent")};
  }
  return absl::InvalidArgumentError("this user has no home folder: name one with --state DIR");
}

absl::Status MakeStateFolder(const AgentState& state) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = state.folder.find('/', at);
    const std::string part = state.folder.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, "make the folder", part);
    if (at != std::string::npos) ++at;
  }
  return absl::OkStatus();
}

}  // namespace paritect
