#include "storage/sqlite.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr int kStepsBetweenClockReads = 4000;  // of SQLite's virtual machine: well below a millisecond

// Writing failed for want of space or of a working disk: nothing was changed, and it may succeed later.
bool IsWriteFault(int code) {
  switch (code) {
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP: return true;
    default: return false;
  }
}

bool IsReadFault(int code) {
  return code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_DATA ||
         code == SQLITE_IOERR_CORRUPTFS;
}

}  // namespace

absl::Status SqliteStatus(int code, sqlite3* database, absl::string_view what) {
  const char* why = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const std::string message = absl::StrCat(what, ": ", why);
  if (IsWriteFault(code)) return absl::ResourceExhaustedError(absl::StrCat(message, " (the disk cannot be written)"));
  if (IsReadFault(code)) return absl::DataLossError(absl::StrCat(message, " (the disk cannot be read)"));
  switch (code & 0xff) {
    case SQLITE_NOTADB: return absl::FailedPreconditionError(message);
    case SQLITE_CORRUPT: return absl::DataLossError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return absl::UnavailableError(absl::StrCat(message, " (in use by another process)"));
    case SQLITE_FULL: return absl::ResourceExhaustedError(absl::StrCat("the database's disk is full: ", message));
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM: return absl::ResourceExhaustedError(message);
    case SQLITE_INTERRUPT: return absl::DeadlineExceededError(message);
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return absl::PermissionDeniedError(message);
    default: return absl::InternalError(message);
  }
}

void SqliteStatement::Finalize(sqlite3_stmt* statement) {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::Bind(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(statement_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

SqliteStatement& SqliteStatement::BindText(int index, absl::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(int index, absl::string_view bytes) {
  // A null pointer would bind NULL; no bytes are a blob all the same.
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  const int code = sqlite3_bind_blob64(statement_.get(), index, data, bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  sqlite3* database = sqlite3_db_handle(statement_.get());
  if (bind_error_ != 0) return SqliteStatus(bind_error_, nullptr, "bind");
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  const absl::Status status = code == SQLITE_DONE ? absl::OkStatus() : SqliteStatus(code, database, "step");
  Reset();
  if (!status.ok()) return status;
  return false;
}

absl::Status SqliteStatement::Run() {
  PARITECT_ASSIGN_OR_RETURN(const bool row, Step());
  if (row) Reset();
  return absl::OkStatus();
}

absl::Status SqliteStatement::Queue(std::int64_t* changed, Visit visit) {
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) break;
    if (visit) visit(*this);
  }
  if (changed != nullptr) *changed += sqlite3_changes64(sqlite3_db_handle(statement_.get()));
  return absl::OkStatus();
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bind_error_ = 0;
}

std::int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string SqliteStatement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void SqliteConnection::Close(sqlite3* database) {
  sqlite3_close_v2(database);
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(absl::string_view path, SqliteAccess access) {
  sqlite3* database = nullptr;
  const int mode =
      access == SqliteAccess::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(std::string(path).c_str(), &database, mode | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteConnection connection(database);
  if (code != SQLITE_OK) return SqliteStatus(code, database, absl::StrCat("open ", path));
  sqlite3_extended_result_codes(database, 1);
  // We make none; those of a file that somebody changed are not run.
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_busy_timeout(database, kBusyTimeoutMs);
  return connection;
}

absl::Status SqliteConnection::Execute(absl::string_view sql) {
  const int code = sqlite3_exec(database_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteStatus(code, database_.get(), "execute");
}

absl::StatusOr<SqliteStatement> SqliteConnection::Prepare(absl::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr);
  if (code != SQLITE_OK) return SqliteStatus(code, database_.get(), "prepare");
  return SqliteStatement(statement);
}

absl::StatusOr<std::int64_t> SqliteConnection::ReadInt(absl::string_view sql) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  PARITECT_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

bool SqliteConnection::Watch::Over() const {
  return (deadline_ns != 0 && absl::GetCurrentTimeNanos() > deadline_ns) || (stop && stop());
}

int SqliteConnection::IsOver(void* watch) {
  return static_cast<const Watch*>(watch)->Over() ? 1 : 0;
}

SqliteConnection::Watch& SqliteConnection::watch() {
  if (watch_ == nullptr) {
    watch_ = std::make_unique<Watch>();
    sqlite3_progress_handler(database_.get(), kStepsBetweenClockReads, &IsOver, watch_.get());
  }
  return *watch_;
}

void SqliteConnection::SetTimeLimit(std::int64_t milliseconds) {
  watch().deadline_ns = milliseconds == 0 ? 0 : absl::GetCurrentTimeNanos() + milliseconds * 1'000'000;
}

void SqliteConnection::SetStop(std::function<bool()> stop) {
  watch().stop = std::move(stop);
}

absl::Status SqliteConnection::CheckTime() const {
  if (watch_ == nullptr || !watch_->Over()) return absl::OkStatus();
  return absl::DeadlineExceededError("the time for reading is over");
}

absl::StatusOr<SqliteTransaction> SqliteTransaction::Begin(SqliteConnection& connection) {
  PARITECT_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  return SqliteTransaction(&connection);
}

SqliteTransaction::~SqliteTransaction() {
  if (connection_ != nullptr) (void)connection_->Execute("ROLLBACK");
}

absl::Status SqliteTransaction::Commit() {
  PARITECT_RETURN_IF_ERROR(connection_->Execute("COMMIT"));
  connection_ = nullptr;
  return absl::OkStatus();
}

std::string OldSqlite(int version_number, absl::string_view version) {
  const bool mended = version_number >= 3'051'003 || (version_number >= 3'050'007 && version_number < 3'051'000) ||
                      (version_number >= 3'044'006 && version_number < 3'045'000);
  if (mended) return "";
  return absl::StrCat("SQLite ", version, " has the fault of resetting its write-ahead log (mended in 3.51.3, 3.50.7, "
                      "3.44.6); the server keeps clear of it with one writing connection: let no other program open "
                      "its database");
}

std::string OldSqlite() {
  return OldSqlite(sqlite3_libversion_number(), sqlite3_libversion());
}

}  // namespace paritect
