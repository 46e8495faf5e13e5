#include "storage/sqlite_prepared.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {

absl::StatusOr<std::unique_ptr<SqlConnection>> PreparedSqlite::OpenReader(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection connection, SqliteConnection::Open(path, SqliteAccess::kReadOnly));
  PARITECT_RETURN_IF_ERROR(connection.Execute(
      "PRAGMA query_only=1; PRAGMA wal_autocheckpoint=0; PRAGMA trusted_schema=0; PRAGMA cell_size_check=1;"));
  return std::make_unique<PreparedSqlite>(std::move(connection));
}

absl::StatusOr<SqlStatement*> PreparedSqlite::Use(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) {
    found->second.Reset();
    return &found->second;
  }
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement statement, connection_.Prepare(sql));
  return &statements_.emplace(sql, std::move(statement)).first->second;
}

void PreparedSqlite::ResetAll() {
  for (auto& [sql, statement] : statements_) statement.Reset();
}

absl::Status PreparedSqlite::CheckPages(std::vector<std::string>& problems) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, Use("PRAGMA integrity_check(50)"));
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return absl::OkStatus();
    if (const std::string line = rows->Bytes(0); line != "ok") problems.push_back(absl::StrCat("pages: ", line));
  }
}

}  // namespace paritect
