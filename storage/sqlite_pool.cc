#include "storage/sqlite_pool.h"

#include "common/status_macros.h"

namespace paritect {

absl::StatusOr<SqliteStatement*> PreparedConnection::Use(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) {
    found->second.Reset();
    return &found->second;
  }
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement statement, connection_.Prepare(sql));
  return &statements_.emplace(sql, std::move(statement)).first->second;
}

void PreparedConnection::ResetAll() {
  for (auto& [sql, statement] : statements_) statement.Reset();
}

ReaderPool::Lease::~Lease() {
  if (connection_ != nullptr) pool_->GiveBack(std::move(connection_));
}

absl::StatusOr<ReaderPool::Lease> ReaderPool::Take(std::int64_t time_limit_ms) {
  std::unique_ptr<PreparedConnection> connection;
  {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(this, &ReaderPool::Available), absl::Milliseconds(time_limit_ms))) {
      return absl::DeadlineExceededError("too many reads at once: none of the connections became free");
    }
    if (idle_.empty()) {
      --left_;
    } else {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connection == nullptr) {
    auto opened = OpenOne();
    if (!opened.ok()) {
      absl::MutexLock lock(&mutex_);
      ++left_;
      return opened.status();
    }
    connection = *std::move(opened);
  }
  connection->connection().SetTimeLimit(time_limit_ms);
  return Lease(this, std::move(connection));
}

absl::StatusOr<std::unique_ptr<PreparedConnection>> ReaderPool::OpenOne() const {
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection connection, SqliteConnection::Open(path_, SqliteAccess::kReadOnly));
  // A connection that never checkpoints: see docs/schema.md on SQLite 3.40 and the WAL.
  PARITECT_RETURN_IF_ERROR(connection.Execute(
      "PRAGMA query_only=1; PRAGMA wal_autocheckpoint=0; PRAGMA trusted_schema=0; PRAGMA cell_size_check=1;"));
  return std::make_unique<PreparedConnection>(std::move(connection));
}

void ReaderPool::GiveBack(std::unique_ptr<PreparedConnection> connection) {
  connection->ResetAll();
  absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(connection));
}

}  // namespace paritect
