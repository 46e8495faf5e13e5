// paritect-server verify | compact: the database of a server that does not run. (Of one that runs: `paritect doctor
// --deep`.)
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/arguments.h"
#include "common/digest.h"
#include "common/kept_owner.h"
#include "server/commands/server_store.h"
#include "server/server_command.h"

namespace paritect {
namespace {

// Empty, or that the log does not hold the entry any more; InvalidArgument: not NUMBER:HASH.
absl::StatusOr<std::string> MissingLogHead(FleetStore& store, const std::string& head) {
  const std::vector<std::string> parts = absl::StrSplit(head, ':');
  std::int64_t number = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &number) || number < 1 || parts[1].size() != 64) {
    return absl::InvalidArgumentError(absl::StrCat("--log-head ", head, ": must be NUMBER:HASH, as it was printed"));
  }
  const auto entries = store.ReadLog(number, 1);
  if (!entries.ok()) return std::string(entries.status().message());
  if (entries->empty()) return absl::StrCat("the log's end was cut off: entry ", number, " is not there any more");
  if (ToHex((*entries)[0].hash()) == absl::AsciiStrToLower(parts[1])) return "";
  return absl::StrCat("log entry ", number, " is not the one that was printed");
}

int Verify(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string head;
  std::string uri;
  Arguments arguments("paritect-server verify", "check pages, digests and the log's chain of a stopped server");
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("--store", uri, kStoreHelp);
  arguments.Text("--log-head", head, "NUMBER:HASH as a start or `paritect doctor` printed it: must be in the log");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "verify", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  const KeptOwner owner(folder);
  auto store = OpenStoreOf(folder, uri, LostCommits::kTell);
  if (!store.ok()) return ServerError(env, "verify", store.status().message(), kServerUsage);
  auto faults = (*store)->Verify();
  if (!faults.ok()) return ServerError(env, "verify", faults.status().message(), kServerFailed);
  if (!head.empty()) {
    const auto missing = MissingLogHead(**store, head);
    if (!missing.ok()) return ServerError(env, "verify", missing.status().message(), kServerUsage);
    if (!missing->empty()) faults->push_back(*missing);
  }
  for (const std::string& fault : *faults) env.out << fault << "\n";
  if (faults->empty()) env.out << "whole: every page, digest and link of the log\n";
  const auto stats = (*store)->Stats();
  if (stats.ok() && stats->log_head.number() > 0) {
    env.out << "log head " << stats->log_head.number() << ":" << ToHex(stats->log_head.hash()) << "\n";
  }
  return faults->empty() ? kServerOk : kServerFailed;
}

int Compact(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string uri;
  Arguments arguments("paritect-server compact", "drop what nothing refers to and give space back");
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("--store", uri, kStoreHelp);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "compact", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  const KeptOwner owner(folder);
  auto store = OpenStoreOf(folder, uri);
  if (!store.ok()) return ServerError(env, "compact", store.status().message(), kServerUsage);
  const absl::Status status = (*store)->Compact();
  if (!status.ok()) return ServerError(env, "compact", status.message(), kServerFailed);
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerVerifyCommand;
const ServerCommand kServerVerifyCommand = {"verify", "check the database of a stopped server", &Verify};
extern const ServerCommand kServerCompactCommand;
const ServerCommand kServerCompactCommand = {"compact", "give space of a stopped server's database back", &Compact};

}  // namespace paritect
