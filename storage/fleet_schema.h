// The schema of the server's file and what stands before its first use. Reasons: docs/schema.md.
#ifndef PARITECT_STORAGE_FLEET_SCHEMA_H_
#define PARITECT_STORAGE_FLEET_SCHEMA_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "storage/sqlite.h"

namespace paritect {

inline constexpr std::int64_t kFleetApplicationId = 0x5052464c;  // "PRFL"

// Migration i brings user_version from i to i + 1; forward only. Never edit one that was released: add the next.
absl::Span<const absl::string_view> FleetMigrations();

// Readies the one writing connection to the file at `path`: refuses what is foreign, later or cut off (nothing of it is
// changed), sets WAL with full synchronisation, and applies the migrations that are missing, each in one transaction. A
// file that holds an earlier version is copied to PATH.before-vN first.
absl::Status PrepareFleetFile(SqliteConnection& connection, absl::string_view path,
                              absl::Span<const absl::string_view> migrations);

enum class IfThere { kReplace, kRefuse };

// The whole database of `source` as one file without a log at `path`, fsynced and put into place, its pages checked.
// `pause` is called between steps: there the caller lets others use the connection. AlreadyExists: see `if_there`.
absl::Status CopyDatabase(SqliteConnection& source, absl::string_view path, IfThere if_there,
                          absl::FunctionRef<void()> pause);

// The same of a file that another process writes: its state at one moment, everything that it had acknowledged then.
absl::Status CopyRunningDatabase(const std::string& from, absl::string_view to);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_SCHEMA_H_
