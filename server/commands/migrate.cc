// paritect-server migrate: a server's database from its file into PostgreSQL.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/arguments.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "server/server_command.h"
#include "storage/postgresql/server_stores.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "migrate";
constexpr absl::string_view kSummary = "bring a stopped server's database from its file into PostgreSQL";
constexpr std::int64_t kTellRows = 100'000;

absl::StatusOr<std::vector<TableContents>> Migrate(ServerEnv& env, const std::string& from, const std::string& to) {
  absl::string_view path = from;
  if (!absl::ConsumePrefix(&path, "sqlite:") || path.empty()) {
    return absl::InvalidArgumentError("--from is the file of a stopped server: sqlite:FILE");
  }
  // Opening makes what is not there: a typing error must not.
  if (!PosixFileSystem().Stat(path).ok()) return absl::NotFoundError(absl::StrCat(path, " is not there"));
  // Open for as long as the copy takes: no server writes it, and what a kill left in its log is in it.
  auto source = OpenFleetStore(from, {.marked = true});
  if (absl::IsUnavailable(source.status())) {
    return absl::UnavailableError(absl::StrCat(source.status().message(), "; stop the server first"));
  }
  if (!source.ok()) return source.status();
  const auto faults = (*source)->Verify();
  if (!faults.ok()) return faults.status();
  if (!faults->empty()) {
    return absl::DataLossError(absl::StrCat("the file is damaged; nothing was written: ", faults->front()));
  }
  std::int64_t told = 0;
  return FillServerStore(to, std::string(path), [&](absl::string_view table, std::int64_t rows) {
    if (rows < told) told = 0;
    if (rows < told + kTellRows) return;
    told = rows;
    env.err << table << ": " << rows << " rows\n";
  });
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  std::string from;
  std::string to;
  Arguments arguments("paritect-server migrate", kSummary);
  arguments.Text("--from", from, "sqlite:FILE, the database of the stopped server (DIR/paritect.db)");
  arguments.Text("--to", to, "postgresql://USER@HOST/DATABASE, empty, or where an interrupted migrate had begun");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  if (from.empty() || to.empty()) return ServerError(env, kName, "give --from and --to", kServerUsage);
  const auto tables = Migrate(env, from, to);
  if (!tables.ok()) {
    const bool usage = absl::IsInvalidArgument(tables.status()) || absl::IsFailedPrecondition(tables.status()) ||
                       absl::IsNotFound(tables.status()) || absl::IsUnimplemented(tables.status());
    return ServerError(env, kName, tables.status().message(), usage ? kServerUsage : kServerFailed);
  }
  for (const TableContents& table : *tables) {
    env.out << table.table << ": " << table.rows << " rows, SHA-256 " << ToHex(table.sha256) << "\n";
  }
  env.err << "all of it is there, row by row; start the server with --store " << ShownStore(to) << " and keep " << from
          << " until it has proved itself\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerMigrateCommand;
const ServerCommand kServerMigrateCommand = {kName, kSummary, &Run};

}  // namespace paritect
