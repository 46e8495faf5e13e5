// sqlite:PATH: the server's file. Schema, and why one connection writes and checkpoints: docs/schema.md.
#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "storage/file_lock.h"
#include "storage/fleet_rows.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_store.h"
#include "storage/sqlite_pool.h"
#include "storage/store_mark.h"

namespace paritect {
namespace {

constexpr int kReaders = 6;
constexpr std::int64_t kReadLimitMs = 30'000;       // of one page of rows
constexpr std::int64_t kVerifyLimitMs = 3'600'000;  // of the pages' check: the whole file
constexpr std::int64_t kWalBytesToEmpty = 8 << 20;  // in idle moments
constexpr int kDropRows = 500;                      // in one transaction, so that commits get their turn
constexpr int kVacuumPages = 2000;
constexpr std::int64_t kPageBytes = 4096;

class FleetSqlite : public FleetStore {
 public:
  FleetSqlite(std::string path, FileLock lock, SqliteConnection connection)
      : path_(std::move(path)), lock_(std::move(lock)), writer_(std::move(connection)), readers_(path_, kReaders) {}

  absl::Status Prepare(const FleetStoreOptions& options) {
    absl::MutexLock lock(&writer_mutex_);
    PARITECT_RETURN_IF_ERROR(PrepareFleetFile(writer_.connection(), path_, FleetMigrations()));
    PARITECT_RETURN_IF_ERROR(lock_.Mark());
    PARITECT_ASSIGN_OR_RETURN(log_tail_, ReadLogTail(writer_));
    // Where the log's end was cut off, it goes on after what was written: the hole stays, however much follows.
    PARITECT_ASSIGN_OR_RETURN(std::optional<v1::AuditLogEntry> head, ReadLogHead(writer_));
    if (head && (!log_tail_ || log_tail_->number() < head->number())) log_tail_ = std::move(head);
    return options.marked ? CompareWithMark(options.lost_commits) : absl::OkStatus();
  }

  absl::Status Commit(absl::Span<const WriteSet* const> sets) override {
    for (const WriteSet* set : sets) PARITECT_RETURN_IF_ERROR(CheckWriteSet(*set));
    commits_waiting_.fetch_add(1);
    absl::MutexLock lock(&writer_mutex_);
    commits_waiting_.fetch_sub(1);
    std::optional<v1::AuditLogEntry> tail = log_tail_;
    Tally added;
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(writer_.connection()));
    for (const WriteSet* set : sets) PARITECT_RETURN_IF_ERROR(WriteRows(writer_, *set, tail, added));
    PARITECT_RETURN_IF_ERROR(AddTally(writer_, added));
    // Before the end of the transaction: what cannot be noted is not written either.
    if (touched_ != nullptr) PARITECT_RETURN_IF_ERROR(NoteTouched(sets));
    PARITECT_RETURN_IF_ERROR(transaction.Commit());
    log_tail_ = std::move(tail);
    ++commits_;
    NoteMark();
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view collection, absl::string_view key) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
    return ReadDocument(*reader, collection, key);
  }

  absl::Status Scan(absl::string_view collection, absl::string_view prefix, absl::string_view after,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) override {
    std::string from(after);
    for (bool more = true; more;) {
      std::vector<DocumentRow> page;
      {
        PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
        PARITECT_ASSIGN_OR_RETURN(more, ReadDocumentPage(*reader, collection, prefix, from, page));
      }
      for (const DocumentRow& row : page) {
        if (!visit(row.key, row.value)) return absl::OkStatus();
      }
      if (!page.empty()) from = std::move(page.back().key);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Content(absl::string_view sha256) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
    return ReadContentRow(*reader, sha256);
  }

  absl::StatusOr<bool> HasContent(absl::string_view sha256) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
    return HasContentRow(*reader, sha256, 0);
  }

  absl::StatusOr<bool> HasNode(absl::string_view sha256, int level) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
    return HasContentRow(*reader, sha256, level);
  }

  absl::Status ScanBatches(absl::string_view node, absl::FunctionRef<bool(const BatchWrite&)> visit) override {
    std::int64_t after = 0;
    for (bool more = true; more;) {
      std::vector<BatchWrite> page;
      {
        PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
        PARITECT_ASSIGN_OR_RETURN(more, ReadBatchPage(*reader, node, after, page));
      }
      for (const BatchWrite& batch : page) {
        if (!visit(batch)) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> DropBatches(std::int64_t received_before_unix_ms) override {
    absl::MutexLock lock(&writer_mutex_);
    for (std::int64_t dropped = 0;;) {
      PARITECT_ASSIGN_OR_RETURN(const std::int64_t rows, DropBatchRows(writer_, received_before_unix_ms, kDropRows));
      ++commits_;
      if (rows == 0) return dropped;
      dropped += rows;
      LetOthersWrite();
    }
  }

  absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLog(std::int64_t from, int limit) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
    return ReadLogRows(*reader, from, limit);
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

  absl::StatusOr<std::vector<std::string>> Verify(absl::FunctionRef<bool()> stop) override {
    PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kVerifyLimitMs));
    PARITECT_ASSIGN_OR_RETURN(std::vector<std::string> problems, FindDamage(*reader, stop));
    problems.insert(problems.begin(), problems_.begin(), problems_.end());
    return problems;
  }

  absl::Status Compact() override;
  absl::Status Maintain() override;
  absl::StatusOr<FleetStoreStats> Stats() override;

 private:
  // What commits wrote or referred to since `touched_` was set, with all below it: Compact must not drop it.
  absl::Status NoteTouched(absl::Span<const WriteSet* const> sets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) {
    const auto touch = [this](const std::string& digest) -> absl::Status {
      if (!touched_->insert(digest).second) return absl::OkStatus();
      PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> below, ContentsBelow(writer_, digest));
      touched_->insert(below.begin(), below.end());
      return absl::OkStatus();
    };
    for (const WriteSet* set : sets) {
      for (const ContentWrite& content : set->contents) PARITECT_RETURN_IF_ERROR(touch(content.sha256));
      for (const DocumentWrite& one : set->documents) {
        for (const std::string& digest : one.references) PARITECT_RETURN_IF_ERROR(touch(digest));
      }
      for (const BatchWrite& one : set->batches) {
        for (const std::string& digest : one.references) PARITECT_RETURN_IF_ERROR(touch(digest));
      }
    }
    return absl::OkStatus();
  }

  // Between two steps of housekeeping. A mutex is not fair: without a pause, who just gave it up takes it again.
  void LetOthersWrite() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    writer_mutex_.Unlock();
    for (int i = 0; i < 100 && commits_waiting_.load() > 0; ++i) absl::SleepFor(absl::Microseconds(500));
    writer_mutex_.Lock();
  }

  absl::Status CompareWithMark(LostCommits lost) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  void NoteMark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  absl::Status DropContents(const std::vector<std::string>& digests, std::size_t at_once);
  absl::Status GiveSpaceBack();

  const std::string path_;
  FileLock lock_;
  absl::Mutex housekeeping_mutex_ ABSL_ACQUIRED_BEFORE(writer_mutex_);  // Backup and Compact: one at a time
  std::atomic<int> commits_waiting_ = 0;
  absl::Mutex writer_mutex_;
  PreparedConnection writer_ ABSL_GUARDED_BY(writer_mutex_);
  std::optional<v1::AuditLogEntry> log_tail_ ABSL_GUARDED_BY(writer_mutex_);
  std::unique_ptr<absl::flat_hash_set<std::string>> touched_ ABSL_GUARDED_BY(writer_mutex_);
  std::optional<StoreMark> mark_ ABSL_GUARDED_BY(writer_mutex_);
  std::int64_t commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;
  std::int64_t synced_commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;  // of the mark
  std::vector<std::string> problems_;                               // constant once it is open
  ReaderPool readers_;  // closed before the writer: the last connection to close empties the log
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

absl::Status FleetSqlite::Compact() {
  absl::MutexLock one_at_a_time(&housekeeping_mutex_);
  {
    absl::MutexLock lock(&writer_mutex_);
    touched_ = std::make_unique<absl::flat_hash_set<std::string>>();
  }
  absl::Status status;
  {
    auto reader = readers_.Take(kVerifyLimitMs);
    const auto unused = reader.ok() ? UnreferencedContents(**reader) : reader.status();
    // A node goes before what is below it, whatever happens in between: one that is there stands for all below. Nodes
    // are few: they go in one step, so that none outlives a lower one.
    status = unused.status();
    if (status.ok()) status = DropContents(unused->nodes, unused->nodes.size());
    if (status.ok()) status = DropContents(unused->others, kDropRows);
  }
  {
    absl::MutexLock lock(&writer_mutex_);
    touched_ = nullptr;
  }
  PARITECT_RETURN_IF_ERROR(status);
  return GiveSpaceBack();
}

absl::Status FleetSqlite::DropContents(const std::vector<std::string>& digests, std::size_t at_once) {
  absl::MutexLock lock(&writer_mutex_);
  for (std::size_t from = 0; from < digests.size(); from += at_once) {
    const std::size_t to = std::min(digests.size(), from + at_once);
    Tally added;
    {
      PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(writer_.connection()));
      for (std::size_t i = from; i < to; ++i) {
        if (!touched_->contains(digests[i])) PARITECT_RETURN_IF_ERROR(DropContentRow(writer_, digests[i], added));
      }
      PARITECT_RETURN_IF_ERROR(AddTally(writer_, added));
      PARITECT_RETURN_IF_ERROR(transaction.Commit());
      ++commits_;
    }
    LetOthersWrite();
  }
  return absl::OkStatus();
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

absl::StatusOr<FleetStoreStats> FleetSqlite::Stats() {
  PARITECT_ASSIGN_OR_RETURN(const ReaderPool::Lease reader, readers_.Take(kReadLimitMs));
  FleetStoreStats stats;
  stats.file_bytes = BytesOf(path_);
  stats.wal_bytes = BytesOf(path_ + "-wal");
  PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(*reader));
  stats.documents = tally.documents;
  stats.contents = tally.contents;
  stats.batches = tally.batches;
  PARITECT_ASSIGN_OR_RETURN(stats.log_entries, reader->connection().ReadInt("SELECT max(number) FROM log"));
  PARITECT_ASSIGN_OR_RETURN(const std::optional<v1::AuditLogEntry> last, ReadLogHead(*reader));
  if (last) stats.log_head.set_number(last->number());
  if (last) stats.log_head.set_hash(last->hash());
  stats.problems = problems_;
  return stats;
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
  if (fd < 0) return absl::ErrnoToStatus(errno, "open");
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
