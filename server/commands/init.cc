// paritect-server init DIR: certificate authority, server certificate, first admin credential.
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/arguments.h"
#include "common/credential.h"
#include "common/host_port.h"
#include "common/pki/server_folder.h"
#include "server/holder_journal.h"
#include "server/server_command.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "init";
constexpr absl::string_view kSummary = "make a server's folder: database, certificate authority, admin credential";

// A pattern ("*.example.com") is good for the certificate and no address that could be dialled.
std::string FirstAddress(const InitOptions& options, const std::string& otherwise) {
  for (const std::string& host : options.hosts) {
    if (!absl::StrContains(host, '*')) return host;
  }
  return otherwise;
}

absl::StatusOr<InitResult> Init(ServerEnv& env, const std::string& folder, InitOptions& options,
                                const std::string& address) {
  auto listen = ParseHostPort(address);
  if (!listen.ok()) return listen.status();
  // What --address names is what clients will dial, so the certificate has it too.
  const bool any = listen->host.empty() || listen->host == "0.0.0.0" || listen->host == "::";
  if (any)
    listen->host = FirstAddress(options, env.host_name.empty() ? "localhost" : env.host_name);
  options.hosts.push_back(listen->host);
  options.address = FormatHostPort(*listen);
  options.host_name = env.host_name;
  options.now = env.clock() / 1000;
  return InitServerFolder(folder, options);
}

// The first admin's credential, so that it can be revoked before it was used.
absl::Status NoteIssued(ServerEnv& env, const std::string& folder) {
  const std::int64_t now = env.clock() / 1000;
  auto loaded = LoadCredential(absl::StrCat(folder, "/admin.credential"), now);
  if (absl::IsNotFound(loaded.status())) return absl::OkStatus();  // without the authority's key there is none
  if (!loaded.ok()) return loaded.status();
  auto line = IssuedLine(loaded->credential, now);
  return line.ok() ? HolderJournal(folder).Append(*line) : line.status();
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string address;
  InitOptions options;
  Arguments arguments("paritect-server init", kSummary);
  arguments.Text("DIR", folder, "the folder to make", true);
  arguments.Texts("--host", options.hosts, "name or address that nodes and clients will use; repeatable");
  arguments.Text("--address", address,
                 "HOST:PORT for the admin credential (default: the first --host, or localhost, port 7400)");
  arguments.Text("--admin", options.admin_name, "name of the first admin (default: admin)");
  arguments.Text("--ca-cert", options.authority_path, "bring your own: the authority's certificate");
  arguments.Text("--ca-key", options.authority_key_path, "its key, if this server shall sign with it");
  arguments.Text("--tls-cert", options.certificate_path, "bring your own: the server's certificate chain");
  arguments.Text("--tls-key", options.key_path, "its key");
  arguments.Text("--identities", options.identities_path,
                 "who holds certificates of that authority (docs/security.md)");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) {
    env.out << arguments.help();
    return kServerOk;
  }
  if (address.empty()) address = absl::StrCat(FirstAddress(options, "localhost"), ":7400");
  const auto result = Init(env, folder, options, address);
  if (!result.ok()) return ServerError(env, kName, result.status().message(), kServerUsage);
  const std::string database = absl::StrCat(folder, "/paritect.db");
  auto store = OpenFleetStore(absl::StrCat("sqlite:", database), {.marked = true});
  if (!store.ok()) return ServerError(env, kName, store.status().message(), kServerInternal);
  if (const absl::Status noted = NoteIssued(env, folder); !noted.ok()) {
    return ServerError(env, kName, noted.message(), kServerInternal);
  }
  for (const std::string& note : result->notes) env.err << "note: " << note << "\n";
  env.err << folder << ": made; admin credential: " << folder << "/admin.credential (for " << options.address << ")\n";
  env.out << "ca-pin " << result->pin << "\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerInitCommand;
const ServerCommand kServerInitCommand = {kName, kSummary, &Run};

}  // namespace paritect
