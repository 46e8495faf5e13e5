// A thin cover over SQLite's C interface: ownership, statuses, bytes. Nothing of the schema.
// SQLite 3.40 (Debian 12); the C interface: https://www.sqlite.org/c3ref/intro.html
#ifndef PARITECT_STORAGE_SQLITE_H_
#define PARITECT_STORAGE_SQLITE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace paritect {

// One prepared statement. Parameters are numbered from 1, columns from 0. Must not outlive its connection.
class SqliteStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement, &Finalize) {}

  SqliteStatement& Bind(int index, std::int64_t value);
  SqliteStatement& BindText(int index, absl::string_view text);
  SqliteStatement& BindBlob(int index, absl::string_view bytes);

  // True: a row stands ready. False: done; the statement is reset and may be bound again.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Run();
  void Reset();

  std::int64_t Int(int column) const;
  std::string Bytes(int column) const;  // of a text or a blob
  bool IsNull(int column) const;

 private:
  static void Finalize(sqlite3_stmt* statement);
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> statement_;
  int bind_error_ = 0;
};

enum class SqliteAccess { kReadWrite, kReadOnly };

// Not thread-safe: one user at a time.
class SqliteConnection {
 public:
  // Creates the file where it is not there and may be written. FailedPrecondition: not a database; Unavailable: in use.
  static absl::StatusOr<SqliteConnection> Open(absl::string_view path, SqliteAccess access = SqliteAccess::kReadWrite);

  absl::Status Execute(absl::string_view sql);  // any number of statements, no rows
  absl::StatusOr<SqliteStatement> Prepare(absl::string_view sql);
  absl::StatusOr<std::int64_t> ReadInt(absl::string_view sql);  // the first column of the first row
  std::int64_t last_insert_id() const;
  std::int64_t changes() const;  // rows changed by the last statement
  // What runs longer than this from now on ends with DeadlineExceeded; 0: no limit.
  void SetTimeLimit(std::int64_t milliseconds);
  // Asked now and then while a statement runs: true ends it with DeadlineExceeded. Empty: nothing is asked.
  void SetStop(std::function<bool()> stop);
  // DeadlineExceeded where the time is over or a stop is asked for: for loops over statements too short to notice.
  absl::Status CheckTime() const;
  sqlite3* handle() const { return database_.get(); }

 private:
  explicit SqliteConnection(sqlite3* database) : database_(database, &Close) {}
  static void Close(sqlite3* database);
  struct Watch {
    std::int64_t deadline_ns = 0;
    std::function<bool()> stop;
    bool Over() const;
  };
  static int IsOver(void* watch);
  Watch& watch();
  std::unique_ptr<Watch> watch_;  // at an address that stays: SQLite holds it
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> database_;
};

// The status that a result code stands for; `database` may be nullptr.
absl::Status SqliteStatus(int code, sqlite3* database, absl::string_view what);

// Begins at once a writing transaction; rolls back unless committed.
class SqliteTransaction {
 public:
  static absl::StatusOr<SqliteTransaction> Begin(SqliteConnection& connection);
  SqliteTransaction(SqliteTransaction&& other) noexcept : connection_(other.connection_) {
    other.connection_ = nullptr;
  }
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  absl::Status Commit();

 private:
  explicit SqliteTransaction(SqliteConnection* connection) : connection_(connection) {}
  SqliteConnection* connection_;
};

// Empty, or what to know of a SQLite whose write-ahead log can be reset under a reader's feet (before 3.51.3, 3.50.7,
// 3.44.6; https://sqlite.org/wal.html#walresetbug). Here one connection alone writes and checkpoints.
std::string OldSqlite();
std::string OldSqlite(int version_number, absl::string_view version);

}  // namespace paritect

#endif  // PARITECT_STORAGE_SQLITE_H_
