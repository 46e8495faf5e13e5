// What the statements of the fleet's schema (storage/fleet_rows.h) need of a database, whichever it is: SQLite in this
// process (storage/sqlite_prepared.h) or PostgreSQL behind a network (storage/postgresql/postgres.h). The statements
// are written once, in the SQL that both speak, with '?' for parameters; what differs stands behind this.
#ifndef PARITECT_STORAGE_SQL_H_
#define PARITECT_STORAGE_SQL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// Columns of one row, numbered from 0.
class SqlRow {
 public:
  virtual std::int64_t Int(int column) const = 0;   // 0 of NULL
  virtual std::string Bytes(int column) const = 0;  // of a text or a blob
  virtual bool IsNull(int column) const = 0;

 protected:
  ~SqlRow() = default;
};

// One prepared statement; parameters are numbered from 1. Must not outlive its connection.
class SqlStatement : public SqlRow {
 public:
  using Visit = std::function<void(const SqlRow& row)>;

  virtual ~SqlStatement() = default;
  virtual SqlStatement& Bind(int index, std::int64_t value) = 0;
  virtual SqlStatement& BindText(int index, absl::string_view text) = 0;
  virtual SqlStatement& BindBlob(int index, absl::string_view bytes) = 0;

  // True: a row stands ready. False: done; the statement is reset and may be bound again. Of a connection one statement
  // has rows at a time: one that begins ends the other.
  virtual absl::StatusOr<bool> Step() = 0;
  virtual void Reset() = 0;
  // Runs it, with others in one exchange where the database is across a network: its rows go to `visit`, the number of
  // rows that it changed is added to `*changed`, at the latest when the connection's Finish returns. An error may be
  // told by a later call. Both must live until then.
  virtual absl::Status Queue(std::int64_t* changed = nullptr, Visit visit = nullptr) = 0;
};

// Not thread-safe: one user at a time.
class SqlConnection {
 public:
  virtual ~SqlConnection() = default;

  // The statement of this text, prepared once, reset and without parameters. `sql` must be a constant: it is found by
  // its address.
  virtual absl::StatusOr<SqlStatement*> Use(const char* sql) = 0;
  // All that was queued has run; the first error of it.
  virtual absl::Status Finish() = 0;
  // Ends what statements still read: a snapshot held open would keep the database from tidying.
  virtual void ResetAll() = 0;

  // A writing transaction.
  virtual absl::Status Begin() = 0;
  virtual absl::Status Commit() = 0;
  virtual void Rollback() = 0;

  // What runs longer than this from now on ends with DeadlineExceeded; 0: no limit.
  virtual void SetTimeLimit(std::int64_t milliseconds) = 0;
  // Asked now and then while a statement runs: true ends it with DeadlineExceeded. Empty: nothing is asked.
  virtual void SetStop(std::function<bool()> stop) = 0;
  // DeadlineExceeded where the time is over or a stop is asked for: for loops over statements too short to notice.
  virtual absl::Status CheckTime() const = 0;
  // What the database itself finds wrong with its pages, in words; nothing where it has no such question.
  virtual absl::Status CheckPages(std::vector<std::string>& problems) = 0;
  // It will never answer again: drop it.
  virtual bool broken() const { return false; }
};

// Begins a writing transaction; rolls back unless committed.
class SqlTransaction {
 public:
  static absl::StatusOr<SqlTransaction> Begin(SqlConnection& connection) {
    const absl::Status status = connection.Begin();
    if (!status.ok()) return status;
    return SqlTransaction(&connection);
  }
  SqlTransaction(SqlTransaction&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  SqlTransaction& operator=(SqlTransaction&&) = delete;
  ~SqlTransaction() {
    if (connection_ != nullptr) connection_->Rollback();
  }
  absl::Status Commit() {
    const absl::Status status = connection_->Commit();
    if (status.ok()) connection_ = nullptr;
    return status;
  }

 private:
  explicit SqlTransaction(SqlConnection* connection) : connection_(connection) {}
  SqlConnection* connection_;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_SQL_H_
