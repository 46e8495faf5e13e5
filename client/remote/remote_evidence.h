// The evidence that a server's audit judged, as bundles: for `why --audit` and `diff ... AUDIT:baseline`.
#ifndef PARITECT_CLIENT_REMOTE_REMOTE_EVIDENCE_H_
#define PARITECT_CLIENT_REMOTE_REMOTE_EVIDENCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "client/command.h"
#include "client/remote/connection.h"

namespace paritect {

// "AUDIT:baseline" or "AUDIT:migrated".
bool IsRemoteSide(absl::string_view text);

// One side of the audit's last run that is done. The server's errors; DataLoss: what it sent is damaged.
absl::StatusOr<std::vector<v1::Bundle>> LoadAuditSide(RemoteServer& server, const std::string& audit, Side side);

// The same by "AUDIT:SIDE", with the connection that the environment and the configuration files give.
// InvalidArgument: not of that form.
absl::StatusOr<std::vector<v1::Bundle>> LoadRemoteSide(CommandEnv& env, const std::string& text,
                                                       const RemoteArguments& remote = {});

// A recorded or imported run, every node of it.
absl::StatusOr<std::vector<v1::Bundle>> LoadRemoteRun(CommandEnv& env, const std::string& run,
                                                      const RemoteArguments& remote = {});

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_REMOTE_EVIDENCE_H_
