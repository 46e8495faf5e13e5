// paritect web: an address that opens the server's page, logged in with the caller's role.
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/terminal.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/host_port.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect web";
constexpr absl::string_view kSummary = "print an address that opens the server's page, logged in as you";

// The page's port on the host by which this client reaches the server: "0.0.0.0:7401" is no address to call.
std::string PageAddress(const std::string& page, const std::string& server) {
  auto address = ParseHostPort(page);
  const auto reached = ParseHostPort(server);
  if (!address.ok()) return page;
  const bool any = address->host == "0.0.0.0" || address->host == "::" || address->host.empty();
  if (any && reached.ok()) address->host = reached->host;
  return FormatHostPort(*address);
}

ExitCode Print(CommandEnv& env, const RemoteArguments& remote, std::int64_t ttl_s) {
  return WithServer(env, kName, remote, [&](Connection& connection) {
    v1::CreateLoginRequest request;
    request.set_ttl_seconds(ttl_s);
    const auto login = connection.server->CreateLogin(request);
    if (!login.ok()) return ServerError(env, kName, login.status());
    // The token stands behind '#': browsers send that part to nobody.
    env.out << "https://" << PageAddress(login->page(), connection.server->address()) << "/#/login/" << login->token()
            << "\n";
    env.err << "good once, until " << TimeWord(login->expires_unix() * 1000)
            << "; the browser shall show the certificate sha256 " << login->certificate_sha256()
            << " (or know the authority: ca.pem of the server's folder)\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string ttl;
  Arguments arguments(kName, kSummary);
  arguments.Text("--ttl", ttl, "how long the browser stays logged in: 30m, 8h (default: 8h)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  std::int64_t ttl_s = 0;
  if (!ttl.empty()) {
    const auto seconds = ParseDuration(ttl);
    if (!seconds.ok()) return UsageError(env, kName, absl::StrCat("--ttl: ", seconds.status().message()));
    ttl_s = *seconds;
  }
  return Print(env, remote, ttl_s);
}

}  // namespace

extern const Command kWebCommand;
const Command kWebCommand = {"web", kSummary, &Run};

}  // namespace paritect
