// Which credential file a command uses. Each place is asked in turn, the first that answers decides:
//   --credential FILE, --context NAME
//   PARITECT_CREDENTIAL (a file), PARITECT_CONTEXT (a name)
//   paritect.yaml in the working directory or the nearest folder above it   the project's
//   $XDG_CONFIG_HOME/paritect/config.yaml, else ~/.config/paritect/config.yaml   the user's
//   /etc/paritect/config.yaml   the machine's
//
// Each of the three files has the same form:
//   contexts: {prod: prod.credential, lab: /srv/lab/admin.credential}   # paths relative to the file
//   current: prod
//   credential: site.credential      # in place of `current`
// A context's name is looked for in all three, in that order.
#ifndef PARITECT_CLIENT_REMOTE_CONTEXTS_H_
#define PARITECT_CLIENT_REMOTE_CONTEXTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "common/arguments.h"

namespace paritect {

// The options that every command with a server has.
struct RemoteArguments {
  std::string credential;
  std::string context;
  std::string timeout;
};

// `with_timeout`: also --timeout, of one call. Commands whose --timeout means something else go without.
void DeclareRemoteArguments(Arguments& arguments, RemoteArguments& remote, bool with_timeout = true);

struct CredentialPlace {
  std::string path;
  std::string origin;  // "--credential", "context prod of FILE", ...
};

// InvalidArgument: no place answers, a context that is nowhere, both options at once, a damaged file
// ("FILE:LINE:COLUMN: ...").
absl::StatusOr<CredentialPlace> FindCredential(CommandEnv& env, const RemoteArguments& remote);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_CONTEXTS_H_
