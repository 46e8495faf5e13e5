// paritect-server names DIR [--host NAME]...: for which names the server's certificate is, and more of them: a machine
// gets another name, or the server another machine.
#include "absl/strings/str_cat.h"
#include "common/arguments.h"
#include "common/kept_owner.h"
#include "common/pki/certificate.h"
#include "common/pki/server_folder.h"
#include "common/status_macros.h"
#include "server/server_command.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "names";
constexpr absl::string_view kSummary = "show the names that the server's certificate is for; add some";

absl::Status AddAndShow(ServerEnv& env, const std::string& path, const std::vector<std::string>& hosts) {
  const std::int64_t now = env.clock() / 1000;
  if (!hosts.empty()) PARITECT_RETURN_IF_ERROR(AddServerNames(path, hosts, now));
  PARITECT_ASSIGN_OR_RETURN(const ServerFolder folder, LoadServerFolder(path, now));
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate, Certificate::FromPem(folder.chain_pem));
  const AlternativeNames names = certificate.Names();
  for (const auto& list : {names.dns, names.ip}) {
    for (const std::string& name : list) env.out << name << "\n";
  }
  if (!hosts.empty()) env.err << path << ": restart the server; nobody has to join again\n";
  return absl::OkStatus();
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::vector<std::string> hosts;
  Arguments arguments("paritect-server names", kSummary);
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Texts("--host", hosts, "make the certificate anew, for this name or address too; repeatable");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) {
    env.out << arguments.help();
    return kServerOk;
  }
  const KeptOwner owner(folder);
  const absl::Status status = AddAndShow(env, folder, hosts);
  return status.ok() ? kServerOk : ServerError(env, kName, status.message(), kServerUsage);
}

}  // namespace

extern const ServerCommand kServerNamesCommand;
const ServerCommand kServerNamesCommand = {kName, kSummary, &Run};

}  // namespace paritect
