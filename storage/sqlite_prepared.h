// SQLite as the statements of the fleet's schema see it: a connection with its prepared statements.
#ifndef PARITECT_STORAGE_SQLITE_PREPARED_H_
#define PARITECT_STORAGE_SQLITE_PREPARED_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/sql.h"
#include "storage/sqlite.h"

namespace paritect {

// Not thread-safe: one user at a time.
class PreparedSqlite final : public SqlConnection {
 public:
  explicit PreparedSqlite(SqliteConnection connection) : connection_(std::move(connection)) {}
  // Read-only, and never checkpointing: see docs/schema.md on SQLite 3.40 and the WAL.
  static absl::StatusOr<std::unique_ptr<SqlConnection>> OpenReader(absl::string_view path);

  SqliteConnection& connection() { return connection_; }

  absl::StatusOr<SqlStatement*> Use(const char* sql) override;
  absl::Status Finish() override { return absl::OkStatus(); }
  void ResetAll() override;
  absl::Status Begin() override { return connection_.Execute("BEGIN IMMEDIATE"); }
  absl::Status Commit() override { return connection_.Execute("COMMIT"); }
  void Rollback() override { (void)connection_.Execute("ROLLBACK"); }
  void SetTimeLimit(std::int64_t milliseconds) override { connection_.SetTimeLimit(milliseconds); }
  void SetStop(std::function<bool()> stop) override { connection_.SetStop(std::move(stop)); }
  absl::Status CheckTime() const override { return connection_.CheckTime(); }
  absl::Status CheckPages(std::vector<std::string>& problems) override;

 private:
  SqliteConnection connection_;
  std::map<const char*, SqliteStatement> statements_;  // destroyed before the connection
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_SQLITE_PREPARED_H_
