// paritect web: an address that opens the server's page, logged in with the caller's role.
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/file_system.h"
#include "common/host_port.h"
#include "common/pki/browser_certificate.h"
#include "common/pki/join_token.h"
#include "common/pki/secret_file.h"
#include "common/utf8.h"
#include "report/terminal.h"

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

// For a browser that shall show who it is by itself. The password goes to the terminal, the file to its owner alone.
ExitCode WriteCertificate(CommandEnv& env, const RemoteArguments& remote, const std::string& file) {
  return WithServer(env, kName, remote, [&](Connection& connection) {
    const auto random = NewToken();
    const auto bytes = random.ok() ? BrowserCertificate(connection.credential.credential, *random)
                                   : absl::StatusOr<std::string>(random.status());
    if (!bytes.ok()) return UsageError(env, kName, bytes.status().message());
    if (PosixFileSystem().Stat(file).ok()) {
      return UsageError(env, kName, absl::StrCat(DisplayBytes(file), " is there already"));
    }
    if (const absl::Status written = WriteFileDurably(file, *bytes, kSecretMode); !written.ok()) {
      return UsageError(env, kName, written.message());
    }
    env.out << *random << "\n";
    env.err << "the password of " << DisplayBytes(file)
            << ": import both into the browser, then open the server's page and "
            << "choose to log in with the certificate; delete the file afterwards\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string ttl;
  Arguments arguments(kName, kSummary);
  arguments.Text("--ttl", ttl, "how long the browser stays logged in: 30m, 8h (default: 8h)");
  std::string certificate;
  arguments.Text("--certificate", certificate,
                 "write your certificate and key to this file for the browser (PKCS#12); prints its password");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (!certificate.empty()) return WriteCertificate(env, remote, certificate);
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
