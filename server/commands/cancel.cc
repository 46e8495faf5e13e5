// paritect-server cancel DIR AUDIT: ends runs of an audit that a stopped server would go on with.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/arguments.h"
#include "common/kept_owner.h"
#include "server/audits/stored_runs.h"
#include "server/commands/server_store.h"
#include "server/server_command.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "cancel";
constexpr absl::string_view kSummary = "end the runs of an audit that a stopped server would go on with";

absl::StatusOr<std::vector<std::int64_t>> Cancel(ServerEnv& env, FleetStore& store, const std::string& audit) {
  WriteSet set;
  auto numbers = AddCancellations(store, audit, env.clock(), set);
  if (!numbers.ok() || numbers->empty()) return numbers;
  v1::AuditLogEntry& entry = set.log.emplace_back();
  entry.set_at_unix_ms(env.clock());
  entry.set_actor("server");
  entry.set_action("CancelAudit");
  entry.set_subject(audit);
  entry.set_outcome("ok");
  const WriteSet* const sets[] = {&set};
  const absl::Status status = store.Commit(sets);
  if (!status.ok()) return status;
  return numbers;
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string audit;
  std::string uri;
  Arguments arguments("paritect-server cancel", kSummary);
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("AUDIT", audit, "the audit's name", true);
  arguments.Text("--store", uri, kStoreHelp);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  const KeptOwner owner(folder);
  auto store = OpenStoreOf(folder, uri);
  if (!store.ok()) return ServerError(env, kName, store.status().message(), kServerUsage);
  const auto numbers = Cancel(env, **store, audit);
  if (!numbers.ok()) return ServerError(env, kName, numbers.status().message(), kServerFailed);
  if (numbers->empty()) {
    return ServerError(env, kName, absl::StrCat("no run of audit '", audit, "' is under way"), kServerUsage);
  }
  env.out << "cancelled: " << audit << " run " << absl::StrJoin(*numbers, ", ") << "\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerCancelCommand;
const ServerCommand kServerCancelCommand = {kName, kSummary, &Run};

}  // namespace paritect
