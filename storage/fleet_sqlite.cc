// sqlite:PATH: the server's file. Schema, and why one connection writes and checkpoints: docs/schema.md.
#include <fcntl.h>
#include <unistd.h>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/digest.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "storage/file_lock.h"
#include "storage/fleet_rows.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_sql.h"
#include "storage/sqlite_prepared.h"
#include "storage/store_mark.h"

namespace paritect {
namespace {

constexpr int kReaders = 6;
constexpr std::int64_t kWalBytesToEmpty = 8 << 20;  // in idle moments
constexpr int kVacuumPages = 2000;
constexpr std::int64_t kPageBytes = 4096;

class FleetSqlite : public FleetSql {
 public:
  FleetSqlite(std::string path, FileLock lock, SqliteConnection connection)
      : FleetSql([path] { return PreparedSqlite::OpenReader(path); }, kReaders),
        path_(std::move(path)),
        lock_(std::move(lock)),
        writer_(std::move(connection)) {}
  ~FleetSqlite() override { readers_.CloseIdle(); }  // before the writer: the last connection to close empties the log

  absl::Status Prepare(const FleetStoreOptions& options) {
    absl::MutexLock lock(&writer_mutex_);
    PARITECT_RETURN_IF_ERROR(PrepareFleetFile(writer_.connection(), path_, FleetMigrations()));
    PARITECT_RETURN_IF_ERROR(lock_.Mark());
    PARITECT_ASSIGN_OR_RETURN(log_tail_, ReadLogEnd(writer_));
    return options.marked ? CompareWithMark(options.lost_commits) : absl::OkStatus();
  }

  absl::Status Backup(absl::string_view path) override {
    const auto target = PosixFileSystem().Stat(path);
    const auto own = PosixFileSystem().Stat(path_);
    if (target.ok() && own.ok() && target->device == own->device && target->inode == own->inode) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is the store itself"));
    }
    absl::MutexLock one_at_a_time(&housekeeping_mutex_);
    absl::MutexLock lock(&writer_mutex_);
    // Commits made between two steps go through the same connection, which carries them into the copy.
    return Annotate(CopyDatabase(writer_.connection(), path, IfThere::kRefuse, [this] { LetOthersWrite(); }), path);
  }

  absl::Status Maintain() override;

 protected:
  absl::Status Transact(Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) override {
    PARITECT_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(writer_));
    PARITECT_RETURN_IF_ERROR(body(writer_));
    PARITECT_RETURN_IF_ERROR(transaction.Commit());
    ++commits_;
    NoteMark();
    return absl::OkStatus();
  }
  absl::Status GiveSpaceBack() override;
  absl::Status AddSizes(FleetStoreStats& stats) override;

 private:
  absl::Status CompareWithMark(LostCommits lost) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  void NoteMark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);

  const std::string path_;
  FileLock lock_;
  PreparedSqlite writer_ ABSL_GUARDED_BY(writer_mutex_);
  std::optional<StoreMark> mark_ ABSL_GUARDED_BY(writer_mutex_);
  std::int64_t synced_commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;  // of the mark
};

// Who can write both files can make them agree; what this shows is loss.
absl::Status FleetSqlite::CompareWithMark(LostCommits lost) {
  PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(writer_));
  commits_ = tally.commits;
  PARITECT_ASSIGN_OR_RETURN(StoreMark mark, StoreMark::Open(path_ + ".mark"));
  if (mark.damaged()) {
    problems_.push_back(absl::StrCat(path_, ".mark cannot be read: whether the newest commits were lost is not known"));
  }
  const MarkedState found = lost == LostCommits::kAccept ? MarkedState() : mark.found().value_or(MarkedState());
  if (found.commits > commits_) {
    const std::string what = absl::StrCat(
        "its newest ", found.commits - commits_, " commits are gone (it ends at commit ", commits_, ", its mark says ",
        found.commits, "): the write-ahead log was lost, cut or damaged, or an older copy was put in its place");
    if (lost == LostCommits::kRefuse) return absl::DataLossError(what);
    problems_.push_back(what);
  }
  if (found.log_number > 0) {
    PARITECT_ASSIGN_OR_RETURN(const auto entries, ReadLogRows(writer_, found.log_number, 1));
    const bool there = !entries.empty() && entries[0].number() == found.log_number;
    if (!there)
      problems_.push_back(absl::StrCat("the log of calls was emptied or its end was cut off: entry ", found.log_number,
                                       ", which the mark names, is not there"));
    if (there && entries[0].hash() != found.log_hash) {
      problems_.push_back(absl::StrCat("log entry ", found.log_number, " is not the one that the mark names"));
    }
    // It goes on after what was written: the hole stays, however much follows.
    if (!there && (!log_tail_ || log_tail_->number() < found.log_number)) {
      log_tail_.emplace();
      log_tail_->set_number(found.log_number);
      log_tail_->set_hash(found.log_hash);
    }
  }
  if (lost == LostCommits::kTell) return absl::OkStatus();
  mark_.emplace(std::move(mark));
  NoteMark();
  if (lost == LostCommits::kAccept) NoteMark();  // into the other line too: the higher of both would count
  return absl::OkStatus();
}

// After the commit: a mark that cannot be written stays behind the database, which is no contradiction.
void FleetSqlite::NoteMark() {
  if (!mark_) return;
  MarkedState state;
  state.commits = commits_;
  if (log_tail_) {
    state.log_number = log_tail_->number();
    state.log_hash = log_tail_->hash();
  }
  mark_->Note(state).IgnoreError();
}

absl::Status FleetSqlite::GiveSpaceBack() {
  absl::MutexLock lock(&writer_mutex_);
  SqliteConnection& writer = writer_.connection();
  for (std::int64_t before = std::numeric_limits<std::int64_t>::max();; LetOthersWrite()) {
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t free, writer.ReadInt("PRAGMA freelist_count"));
    if (free == 0 || free >= before) return writer.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
    before = free;
    PARITECT_RETURN_IF_ERROR(writer.Execute(absl::StrCat("PRAGMA incremental_vacuum(", kVacuumPages, ")")));
  }
}

std::int64_t BytesOf(const std::string& path) {
  const auto info = PosixFileSystem().Stat(path);
  return info.ok() ? static_cast<std::int64_t>(info->size_bytes) : 0;
}

absl::Status FleetSqlite::Maintain() {
  {
    absl::MutexLock lock(&writer_mutex_);
    if (mark_ && synced_commits_ != commits_) {
      PARITECT_RETURN_IF_ERROR(mark_->Sync());
      synced_commits_ = commits_;
    }
  }
  if (BytesOf(path_ + "-wal") < kWalBytesToEmpty) return absl::OkStatus();
  absl::MutexLock lock(&writer_mutex_);
  // A reader in the way is not waited for: the next idle moment comes.
  PARITECT_RETURN_IF_ERROR(writer_.connection().Execute("PRAGMA busy_timeout=50; PRAGMA wal_checkpoint(TRUNCATE)"));
  return writer_.connection().Execute("PRAGMA busy_timeout=5000");
}

absl::Status FleetSqlite::AddSizes(FleetStoreStats& stats) {
  stats.file_bytes = BytesOf(path_);
  stats.wal_bytes = BytesOf(path_ + "-wal");
  return absl::OkStatus();
}

// A file that was made once and now is gone or (nearly) empty must not begin anew in silence. SQLite takes one that is
// shorter than a page for a new one.
absl::Status RefuseVanished(const FileLock& lock, const std::string& path) {
  if (!lock.marked() || BytesOf(path) >= kPageBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the store was here and is gone or cut off; restore a backup, or delete ",
                                          path, ".lock to begin anew"));
}

// With the rights that its log and index get too: others than the owner see nothing.
absl::Status CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  close(fd);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenHere(const std::string& path, FileLock lock,
                                                     const FleetStoreOptions& options) {
  PARITECT_RETURN_IF_ERROR(RefuseVanished(lock, path));
  PARITECT_RETURN_IF_ERROR(CreateFile(path));
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection connection, SqliteConnection::Open(path));
  auto store = std::make_unique<FleetSqlite>(path, std::move(lock), std::move(connection));
  PARITECT_RETURN_IF_ERROR(store->Prepare(options));
  return store;
}

absl::StatusOr<std::unique_ptr<FleetStore>> Open(absl::string_view place, const FleetStoreOptions& options) {
  if (place.empty()) return absl::InvalidArgumentError("sqlite: needs a path");
  const std::string path(place);
  PARITECT_ASSIGN_OR_RETURN(FileLock lock, FileLock::Acquire(path + ".lock"));
  const bool ours = lock.marked();
  auto store = OpenHere(path, std::move(lock), options);
  if (store.ok()) return store;
  if (!ours) unlink((path + ".lock").c_str());  // nothing of ours stays beside a foreign file
  return Annotate(store.status(), path);
}

}  // namespace

extern const FleetBackend kSqliteFleetBackend;
const FleetBackend kSqliteFleetBackend = {"sqlite", &Open};

}  // namespace paritect
