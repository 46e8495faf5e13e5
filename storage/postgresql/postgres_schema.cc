#include "storage/postgresql/postgres_schema.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "storage/fleet_schema.h"

namespace paritect {
namespace {

// Two keys of the space of advisory locks: the program's and, of it, the owner's.
static_assert(kFleetApplicationId == 0x5052464c);
constexpr char kTryLock[] = "SELECT (CASE WHEN pg_try_advisory_lock(1347569228, 1) THEN 1 ELSE 0 END)::bigint";
constexpr char kEndSession[] =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype='advisory' AND classid=1347569228 "
    "AND objid=1 AND pid=?";
constexpr char kCountTables[] = "SELECT count(*) FROM pg_tables WHERE schemaname='paritect'";
constexpr char kCountStore[] = "SELECT count(*) FROM pg_tables WHERE schemaname='paritect' AND tablename='store'";

absl::Status MakeSchema(PostgresConnection& writer) {
  return writer.Execute(absl::StrCat(
      "BEGIN; CREATE SCHEMA IF NOT EXISTS paritect; "
      "CREATE TABLE paritect.store(application BIGINT NOT NULL, version BIGINT NOT NULL, owner BYTEA NOT NULL, "
      "filling BYTEA NOT NULL); INSERT INTO paritect.store VALUES(",
      kFleetApplicationId, ", 0, '', ''); COMMIT"));
}

}  // namespace

// The types differ, and what keeps a table's rows together by their key: the same tables otherwise. Texts are bytes, so
// that they have the order of bytes, whatever the database's language.
std::string PostgresMigration(absl::string_view sqlite) {
  return absl::StrReplaceAll(sqlite, {{" STRICT, WITHOUT ROWID", ""},
                                      {" STRICT", ""},
                                      {"INTEGER", "BIGINT"},
                                      {"TEXT", "BYTEA"},
                                      {"BLOB", "BYTEA"},
                                      // SQLite's index holds the row's number by itself.
                                      {"ON batch(node)", "ON batch(node, id)"}});
}

absl::Status TakeOwnership(PostgresConnection& writer, absl::Duration wait) {
  const absl::Time until = absl::Now() + wait;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t taken, writer.ReadInt(kTryLock));
    if (taken == 1) return absl::OkStatus();
    if (absl::Now() >= until) {
      return absl::UnavailableError(
          "the database is in use by another process: a server that runs, or a command of one");
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

absl::Status EndSession(PostgresConnection& writer, int backend_pid) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * end, writer.Use(kEndSession));
  PARITECT_ASSIGN_OR_RETURN(const bool row, end->Bind(1, backend_pid).Step());
  if (row) end->Reset();
  return absl::OkStatus();
}

absl::Status PreparePostgres(PostgresConnection& writer, absl::Span<const absl::string_view> migrations) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t tables, writer.ReadInt(kCountTables));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t store, writer.ReadInt(kCountStore));
  const auto foreign = absl::FailedPreconditionError(
      "the schema paritect of this database is no fleet store: it belongs to another program");
  if (tables > 0 && store == 0) return foreign;
  if (tables == 0) PARITECT_RETURN_IF_ERROR(MakeSchema(writer));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t application, writer.ReadInt("SELECT application FROM store"));
  if (application != kFleetApplicationId) return foreign;
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t version, writer.ReadInt("SELECT version FROM store"));
  const auto latest = static_cast<std::int64_t>(migrations.size());
  if (version > latest) {
    return absl::FailedPreconditionError(
        absl::StrCat("schema ", version, " is of a later version; this one knows up to ", latest));
  }
  for (std::int64_t from = version; from < latest; ++from) {
    PARITECT_RETURN_IF_ERROR(
        writer.Execute(absl::StrCat("BEGIN; ", PostgresMigration(migrations[static_cast<std::size_t>(from)]),
                                    "UPDATE store SET version=", from + 1, "; COMMIT")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadStoreText(PostgresConnection& reader, const char* constant_sql) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use(constant_sql));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  if (!row) return absl::DataLossError("the row that says what this schema is is not there");
  std::string text = rows->Bytes(0);
  rows->Reset();
  return text;
}

absl::Status WriteStoreText(PostgresConnection& writer, const char* constant_sql, absl::string_view text) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * put, writer.Use(constant_sql));
  PARITECT_RETURN_IF_ERROR(put->BindBlob(1, text).Queue());
  return writer.Finish();
}

}  // namespace paritect
