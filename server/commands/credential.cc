// paritect-server credential DIR --role R --name N -o FILE: a credential made on the server's own machine. Whoever can
// read DIR/ca.key may do this anyway; it is the way back in when the last admin's credential has expired.
#include "common/credential.h"
#include "common/arguments.h"
#include "common/kept_owner.h"
#include "common/pki/server_folder.h"
#include "common/status_macros.h"
#include "server/holder_journal.h"
#include "server/server_command.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "credential";
constexpr absl::string_view kSummary = "issue a credential from the server's own folder (a lost admin's way back in)";

struct Options {
  std::string folder;
  std::string role = "admin";
  std::string name = "admin";
  std::vector<std::string> servers;
  std::string output;
};

absl::Status Issue(ServerEnv& env, const Options& o) {
  const auto role = ParseRole(o.role);
  if (!role) return absl::InvalidArgumentError("--role must be agent, viewer, operator or admin");
  PARITECT_ASSIGN_OR_RETURN(const ServerFolder folder, LoadServerFolder(o.folder, env.clock() / 1000));
  PARITECT_ASSIGN_OR_RETURN(const Authority* authority, folder.Enroller());
  PARITECT_ASSIGN_OR_RETURN(const Credential credential, IssueCredential(*authority, {*role, o.name}, o.servers,
                                                                         kAdminLifetimeSeconds, env.clock() / 1000));
  PARITECT_ASSIGN_OR_RETURN(const HolderLine line, IssuedLine(credential, env.clock() / 1000));
  PARITECT_RETURN_IF_ERROR(SaveCredential(o.output, credential));
  // So that it can be revoked before it was used.
  return HolderJournal(o.folder).Append(line);
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  Options o;
  Arguments arguments("paritect-server credential", kSummary);
  arguments.Text("DIR", o.folder, "the server's folder", true);
  arguments.Text("--role", o.role, "agent, viewer, operator or admin (default)");
  arguments.Text("--name", o.name, "whose (default: admin)");
  arguments.Texts("--server", o.servers, "HOST:PORT that goes into the credential; repeatable", true);
  arguments.Text("-o,--output", o.output, "the file to write", true);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) {
    env.out << arguments.help();
    return kServerOk;
  }
  const KeptOwner owner(o.folder);
  const absl::Status status = Issue(env, o);
  if (!status.ok()) return ServerError(env, kName, status.message(), kServerUsage);
  env.err << o.output << ": credential of " << o.role << " '" << o.name << "'\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerCredentialCommand;
const ServerCommand kServerCredentialCommand = {kName, kSummary, &Run};

}  // namespace paritect
