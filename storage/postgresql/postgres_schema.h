// The fleet's schema in a PostgreSQL database (schema "paritect"), and who owns it.
#ifndef PARITECT_STORAGE_POSTGRESQL_POSTGRES_SCHEMA_H_
#define PARITECT_STORAGE_POSTGRESQL_POSTGRES_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "storage/postgresql/postgres.h"

namespace paritect {

inline constexpr absl::string_view kPostgresSearchPath = "SET search_path=paritect; ";

// A migration of storage/fleet_schema.h in PostgreSQL's words.
std::string PostgresMigration(absl::string_view sqlite);

// The database's one owner is the session that has this lock: it goes with the session, so that whoever lost it cannot
// write. Unavailable: another has it.
absl::Status TakeOwnership(PostgresConnection& writer, absl::Duration wait);
// Ends a session of ours that the database has not noticed to be gone.
absl::Status EndSession(PostgresConnection& writer, int backend_pid);

// Makes what is not there, and applies the migrations that are missing, each in one transaction. FailedPrecondition:
// the schema is another program's, or of a later version. By the owner alone.
absl::Status PreparePostgres(PostgresConnection& writer, absl::Span<const absl::string_view> migrations);

// Texts of the row that the schema has of itself: "owner" (a random text of the process that owns it), "filling" (what
// is being copied into it; empty: nothing).
absl::StatusOr<std::string> ReadStoreText(PostgresConnection& reader, const char* constant_sql);
absl::Status WriteStoreText(PostgresConnection& writer, const char* constant_sql, absl::string_view text);

inline constexpr char kReadOwner[] = "SELECT owner FROM store";
inline constexpr char kWriteOwner[] = "UPDATE store SET owner=?";
inline constexpr char kReadFilling[] = "SELECT filling FROM store";
inline constexpr char kWriteFilling[] = "UPDATE store SET filling=?";

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_POSTGRES_SCHEMA_H_
