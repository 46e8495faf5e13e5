#include "storage/fleet_schema.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kMigrations[] = {
    R"(
CREATE TABLE document(collection TEXT NOT NULL, key BLOB NOT NULL, sum INTEGER NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(collection, key)) STRICT, WITHOUT ROWID;
CREATE TABLE document_reference(collection TEXT NOT NULL, key BLOB NOT NULL, sha256 BLOB NOT NULL,
  PRIMARY KEY(collection, key, sha256)) STRICT, WITHOUT ROWID;
CREATE TABLE content(id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
CREATE TABLE stream(node TEXT NOT NULL, epoch INTEGER NOT NULL, last_sequence INTEGER NOT NULL,
  PRIMARY KEY(node, epoch)) STRICT, WITHOUT ROWID;
CREATE TABLE batch(id INTEGER PRIMARY KEY, node TEXT NOT NULL, epoch INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL, last_sequence INTEGER NOT NULL, received_unix_ms INTEGER NOT NULL,
  sha256 BLOB NOT NULL, payload BLOB NOT NULL) STRICT;
CREATE INDEX batch_by_node ON batch(node);
CREATE TABLE batch_reference(batch INTEGER NOT NULL, sha256 BLOB NOT NULL,
  PRIMARY KEY(batch, sha256)) STRICT, WITHOUT ROWID;
CREATE TABLE log(number INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
CREATE TABLE tally(name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO tally VALUES('document', 0), ('content', 0), ('batch', 0);
)",
    // The newest entry of the log once more: that the last ones were cut off shows.
    R"(
CREATE TABLE log_head(id INTEGER PRIMARY KEY CHECK(id = 1), number INTEGER NOT NULL, entry BLOB NOT NULL) STRICT;
INSERT INTO log_head SELECT 1, number, entry FROM log ORDER BY number DESC LIMIT 1;
)",
    // Contents that are nodes of trees: what they refer to stays.
    R"(
ALTER TABLE content ADD COLUMN level INTEGER NOT NULL DEFAULT 0;
)",
    // How many commits there were: the mark beside the file says how many there must be.
    R"(
INSERT INTO tally VALUES('commit', 0);
)",
};

// Pages: the write-ahead log is carried over into the file by the commit that brings it above 16 MiB.
constexpr absl::string_view kWriterSettings =
    "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4096; PRAGMA journal_size_limit=67108864; "
    "PRAGMA cache_size=-32768; PRAGMA trusted_schema=0; PRAGMA cell_size_check=1; PRAGMA foreign_keys=0;";

constexpr int kCopyPagesAStep = 512;
constexpr std::int64_t kCheckAtStartMs = 2000;

absl::Status RefuseForeign(SqliteConnection& connection, std::int64_t latest) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t application, connection.ReadInt("PRAGMA application_id"));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t version, connection.ReadInt("PRAGMA user_version"));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t tables, connection.ReadInt("SELECT count(*) FROM sqlite_schema"));
  if (application != kFleetApplicationId && (tables > 0 || application != 0 || version != 0)) {
    return absl::FailedPreconditionError("this SQLite file is no fleet store: it belongs to another program");
  }
  if (version > latest) {
    return absl::FailedPreconditionError(
        absl::StrCat("schema ", version, " is of a later version; this one knows up to ", latest));
  }
  return absl::OkStatus();
}

absl::Status UseWriteAheadLog(SqliteConnection& connection) {
  // Before the first table: later it would need the whole file rewritten.
  PARITECT_RETURN_IF_ERROR(connection.Execute("PRAGMA auto_vacuum=INCREMENTAL"));
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement mode, connection.Prepare("PRAGMA journal_mode=WAL"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, mode.Step());
  if (!row || mode.Bytes(0) != "wal") {
    return absl::FailedPreconditionError("this file system cannot hold a write-ahead log; use a local one");
  }
  mode.Reset();
  return connection.Execute(kWriterSettings);
}

// With the log carried over, the file is as long as its pages say.
absl::Status RefuseCutFile(SqliteConnection& connection, absl::string_view path) {
  PARITECT_RETURN_IF_ERROR(connection.Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t pages, connection.ReadInt("PRAGMA page_count"));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t page_bytes, connection.ReadInt("PRAGMA page_size"));
  // stat, not open: closing a descriptor of the file would drop SQLite's locks.
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, PosixFileSystem().Stat(path));
  const auto expected = static_cast<std::uint64_t>(pages * page_bytes);
  if (info.size_bytes >= expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the file is cut off: ", info.size_bytes, " bytes of ", expected, "; restore a backup"));
}

absl::Status QuickCheck(SqliteConnection& connection, std::int64_t limit_ms) {
  connection.SetTimeLimit(limit_ms);
  absl::Cleanup unlimited = [&connection] { connection.SetTimeLimit(0); };
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement check, connection.Prepare("PRAGMA quick_check(1)"));
  const absl::StatusOr<bool> row = check.Step();
  if (!row.ok()) return absl::IsDeadlineExceeded(row.status()) ? absl::OkStatus() : row.status();
  const std::string answer = *row ? check.Bytes(0) : "ok";
  if (answer == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the file is damaged (", answer, "); restore a backup"));
}

// Each table, index, trigger and view as it was made, but for blanks.
absl::StatusOr<std::set<std::string>> SchemaOf(SqliteConnection& connection) {
  std::set<std::string> all;
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement rows, connection.Prepare("SELECT type, name, sql FROM sqlite_schema "
                                                                     "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"));
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return all;
    const std::string name = rows.Bytes(1);
    const std::vector<std::string> words = absl::StrSplit(rows.Bytes(2), absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
    all.insert(absl::StrCat(rows.Bytes(0), " '", DisplayBytes(name.substr(0, 100)), "'\n", absl::StrJoin(words, " ")));
  }
}

// A trigger, or a table that takes a row and drops it, would lose without a word what was acknowledged.
absl::Status RefuseForeignSchema(SqliteConnection& connection, absl::Span<const absl::string_view> migrations) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t version, connection.ReadInt("PRAGMA user_version"));
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection fresh, SqliteConnection::Open(":memory:"));
  for (std::int64_t i = 0; i < version; ++i) {
    PARITECT_RETURN_IF_ERROR(fresh.Execute(migrations[static_cast<std::size_t>(i)]));
  }
  PARITECT_ASSIGN_OR_RETURN(const std::set<std::string> ours, SchemaOf(fresh));
  PARITECT_ASSIGN_OR_RETURN(const std::set<std::string> found, SchemaOf(connection));
  for (const std::string& one : found) {
    if (ours.count(one) > 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(one.substr(0, one.find('\n')),
                                                      " of this database is not as this program makes it: somebody "
                                                      "changed the file; restore a backup"));
  }
  if (found.size() == ours.size()) return absl::OkStatus();
  return absl::DataLossError("tables of this database are not there: somebody changed the file; restore a backup");
}

absl::Status Migrate(SqliteConnection& connection, absl::string_view path,
                     absl::Span<const absl::string_view> migrations) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t version, connection.ReadInt("PRAGMA user_version"));
  const auto latest = static_cast<std::int64_t>(migrations.size());
  if (version > 0 && version < latest) {
    const std::string copy = absl::StrCat(path, ".before-v", latest);
    PARITECT_RETURN_IF_ERROR(
        Annotate(CopyDatabase(connection, copy, IfThere::kReplace, [] {}), "copy before migration"));
  }
  for (std::int64_t from = version; from < latest; ++from) {
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection));
    PARITECT_RETURN_IF_ERROR(connection.Execute(migrations[static_cast<std::size_t>(from)]));
    PARITECT_RETURN_IF_ERROR(connection.Execute(
        absl::StrCat("PRAGMA application_id=", kFleetApplicationId, "; PRAGMA user_version=", from + 1)));
    PARITECT_RETURN_IF_ERROR(transaction.Commit());
  }
  return absl::OkStatus();
}

absl::Status CopyPages(SqliteConnection& source, SqliteConnection& target, absl::FunctionRef<void()> pause) {
  sqlite3_backup* copy = sqlite3_backup_init(target.handle(), "main", source.handle(), "main");
  if (copy == nullptr) return SqliteStatus(sqlite3_errcode(target.handle()), target.handle(), "copy");
  int code = SQLITE_OK;
  while ((code = sqlite3_backup_step(copy, kCopyPagesAStep)) == SQLITE_OK) pause();
  const int end = sqlite3_backup_finish(copy);
  if (code != SQLITE_DONE) return SqliteStatus(code, nullptr, "copy");
  return end == SQLITE_OK ? absl::OkStatus() : SqliteStatus(end, nullptr, "copy");
}

absl::Status FsyncPath(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "fsync", path);
}

// A link, unlike a rename, never takes the place of what is there.
absl::Status PutIntoPlace(const std::string& temporary, const std::string& path, IfThere if_there) {
  if (if_there == IfThere::kReplace) {
    if (rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, "rename to", path);
  }
  if (link(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  // File systems without links.
  const bool no_links = errno == EPERM || errno == EOPNOTSUPP;
  if (no_links && renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return absl::OkStatus();
  }
  if (errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, " is there already; nothing was written"));
  return ErrnoStatus(errno, "put in place", path);
}

}  // namespace

absl::Span<const absl::string_view> FleetMigrations() {
  return kMigrations;
}

absl::Status PrepareFleetFile(SqliteConnection& connection, absl::string_view path,
                              absl::Span<const absl::string_view> migrations) {
  PARITECT_RETURN_IF_ERROR(RefuseForeign(connection, static_cast<std::int64_t>(migrations.size())));
  PARITECT_RETURN_IF_ERROR(UseWriteAheadLog(connection));
  PARITECT_RETURN_IF_ERROR(RefuseCutFile(connection, path));
  PARITECT_RETURN_IF_ERROR(QuickCheck(connection, kCheckAtStartMs));
  PARITECT_RETURN_IF_ERROR(RefuseForeignSchema(connection, migrations));
  return Migrate(connection, path, migrations);
}

absl::Status CopyDatabase(SqliteConnection& source, absl::string_view path, IfThere if_there,
                          absl::FunctionRef<void()> pause) {
  const std::string temporary = absl::StrCat(path, ".tmp", getpid());
  absl::Cleanup remove = [&temporary] {
    for (const char* tail : {"", "-wal", "-shm", "-journal"}) unlink((temporary + tail).c_str());
  };
  {
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return ErrnoStatus(errno, "create", temporary);
    close(fd);
    PARITECT_ASSIGN_OR_RETURN(SqliteConnection target, SqliteConnection::Open(temporary));
    PARITECT_RETURN_IF_ERROR(target.Execute("PRAGMA synchronous=OFF"));
    PARITECT_RETURN_IF_ERROR(CopyPages(source, target, pause));
    PARITECT_RETURN_IF_ERROR(target.Execute("PRAGMA journal_mode=DELETE"));
    PARITECT_RETURN_IF_ERROR(QuickCheck(target, 0));
  }
  PARITECT_RETURN_IF_ERROR(FsyncPath(temporary, O_RDWR));
  PARITECT_RETURN_IF_ERROR(PutIntoPlace(temporary, std::string(path), if_there));
  return FsyncPath(std::string(DirName(path)), O_RDONLY | O_DIRECTORY);
}

absl::Status CopyRunningDatabase(const std::string& from, absl::string_view to) {
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection source, SqliteConnection::Open(from, SqliteAccess::kReadOnly));
  // As the server's own readers: it never checkpoints (docs/schema.md on SQLite 3.40 and the WAL).
  PARITECT_RETURN_IF_ERROR(
      source.Execute("PRAGMA query_only=1; PRAGMA wal_autocheckpoint=0; PRAGMA trusted_schema=0;"));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t application, source.ReadInt("PRAGMA application_id"));
  if (application != kFleetApplicationId) return absl::FailedPreconditionError("this file is no fleet store");
  // One snapshot for all steps; without it the copy would begin anew with each commit.
  PARITECT_RETURN_IF_ERROR(source.Execute("BEGIN"));
  PARITECT_RETURN_IF_ERROR(source.ReadInt("SELECT count(*) FROM sqlite_schema").status());
  return CopyDatabase(source, to, IfThere::kRefuse, [] {});
}

}  // namespace paritect
