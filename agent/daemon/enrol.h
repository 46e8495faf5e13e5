// How a node gets its certificate, and a new one before the old one ends.
#ifndef PARITECT_AGENT_DAEMON_ENROL_H_
#define PARITECT_AGENT_DAEMON_ENROL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/credential.h"
#include "common/net/starting_server.h"

namespace paritect {

struct JoinQuery {
  std::string server;  // "HOST:PORT"
  std::string token;
  std::string ca_pin;    // "sha256:..."
  std::string node;      // the name that is asked for
  std::int64_t now = 0;  // Unix seconds
  TellWaiting waiting = {};  // may be empty
};

// What can be seen to be wrong without asking anybody: InvalidArgument.
absl::Status CheckJoinQuery(const JoinQuery& query);

// Gets the server's authority and checks its pin, makes a key, has it certified. The token is spent when this succeeds.
// InvalidArgument as above; PermissionDenied: the server shows another authority (both pins are told) or does not take
// the token; AlreadyExists: the name is taken; Unavailable, DeadlineExceeded: not reachable; others in the server's
// words.
absl::StatusOr<Credential> JoinServer(const JoinQuery& query);

// The same where the authority is known already.
absl::StatusOr<Credential> JoinKnownServer(const JoinQuery& query, const std::string& authority_pem);

// A new key and certificate for the same identity, from the first of `servers` that answers. The old ones stay valid.
absl::StatusOr<Credential> RenewCredential(const Credential& credential, const std::vector<std::string>& servers,
                                           std::int64_t timeout_ms);

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_ENROL_H_
