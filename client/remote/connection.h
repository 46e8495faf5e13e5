// From a command's options to a server that can be asked, and from a server's refusals to words and an exit code.
#ifndef PARITECT_CLIENT_REMOTE_CONNECTION_H_
#define PARITECT_CLIENT_REMOTE_CONNECTION_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/command.h"
#include "client/remote/contexts.h"
#include "client/remote/remote_server.h"

namespace paritect {

struct Connection {
  CredentialPlace place;
  LoadedCredential credential;
  std::unique_ptr<RemoteServer> server;
};

// InvalidArgument, NotFound: the user's mistake. FailedPrecondition: a credential that no server would take.
absl::StatusOr<Connection> OpenConnection(CommandEnv& env, const RemoteArguments& remote);

// Runs `body` with a connected server; prints what prevents it and gives the exit code. Warnings about the credential
// go to standard error.
ExitCode WithServer(CommandEnv& env, absl::string_view command, const RemoteArguments& remote,
                    absl::FunctionRef<ExitCode(Connection& connection)> body);

// Says on standard error that a server is waited for, which may be starting.
TellWaiting WaitingTold(CommandEnv& env, absl::string_view command);

// kExitUsage for the user's mistakes (InvalidArgument, NotFound, AlreadyExists, OutOfRange), kExitInternal for faults
// (Internal, DataLoss, Unknown), kExitServer for everything else: not reachable, refused, too old.
ExitCode ExitCodeOf(const absl::Status& status);

// Prints the refusal in words, with its exit code.
ExitCode ServerError(CommandEnv& env, absl::string_view command, const absl::Status& status);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_CONNECTION_H_
