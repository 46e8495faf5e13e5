#include "client/remote/connection.h"

#include "absl/strings/str_cat.h"
#include "client/localise.h"
#include "client/report/audit_options.h"
#include "common/duration.h"
#include "common/status_macros.h"
#include "report/terminal.h"

namespace paritect {
namespace {

// A file that is not there or damaged is the user's mistake; one whose dates no server would take is a refusal.
absl::StatusOr<LoadedCredential> ReadCredential(CommandEnv& env, const CredentialPlace& place) {
  const std::string context = absl::StrCat("the credential named by ", place.origin);
  auto info = PosixFileSystem().Stat(place.path);
  if (info.ok() && info->type == FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat(context, ": ", place.path, " is a folder"));
  }
  auto loaded = LoadCredential(place.path, env.now_unix_ms() / 1000);
  if (loaded.ok() || absl::IsFailedPrecondition(loaded.status())) return loaded;
  return absl::InvalidArgumentError(absl::StrCat(context, ": ", loaded.status().message()));
}

}  // namespace

absl::StatusOr<Connection> OpenConnection(CommandEnv& env, const RemoteArguments& remote) {
  ConnectOptions options;
  if (!remote.timeout.empty()) {
    auto seconds = ParseDuration(remote.timeout);
    if (!seconds.ok()) return Annotate(seconds.status(), "--timeout");
    options.timeout_ms = *seconds * 1000;
  }
  options.waiting = WaitingTold(env, "paritect");
  Connection connection;
  PARITECT_ASSIGN_OR_RETURN(connection.place, FindCredential(env, remote));
  PARITECT_ASSIGN_OR_RETURN(connection.credential, ReadCredential(env, connection.place));
  if (env.connector == nullptr) return absl::UnimplementedError("this build cannot speak to servers");
  PARITECT_ASSIGN_OR_RETURN(connection.server, env.connector->Connect(connection.credential.credential, options));
  return connection;
}

ExitCode WithServer(CommandEnv& env, absl::string_view command, const RemoteArguments& remote,
                    absl::FunctionRef<ExitCode(Connection& connection)> body) {
  auto connection = OpenConnection(env, remote);
  if (!connection.ok()) return ServerError(env, command, connection.status());
  for (const std::string& warning : connection->credential.warnings) {
    env.err << command << ": warning: " << TerminalSafe(warning) << "\n";
  }
  return body(*connection);
}

TellWaiting WaitingTold(CommandEnv& env, absl::string_view command) {
  return [&env, command = std::string(command)](const std::string& text) {
    env.err << command << ": " << TerminalSafe(Localised(env.language, text)) << std::endl;
  };
}

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange: return kExitUsage;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown: return kExitInternal;
    default: return kExitServer;
  }
}

ExitCode ServerError(CommandEnv& env, absl::string_view command, const absl::Status& status) {
  const ExitCode code = ExitCodeOf(status);
  std::string message(status.message());
  if (message.empty()) message = absl::StatusCodeToString(status.code());
  if (absl::IsPermissionDenied(status)) message = absl::StrCat("refused: ", message);
  UsageError(env, command, message);
  return code;
}

}  // namespace paritect
