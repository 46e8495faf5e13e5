// What every fleet store over SQL does alike: rows of storage/fleet_rows.h, one writer, readers beside it. What a
// database does its own way (opening, what a transaction survives, copies, space) stands in the classes that derive
// from this.
#ifndef PARITECT_STORAGE_FLEET_SQL_H_
#define PARITECT_STORAGE_FLEET_SQL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "storage/fleet_rows.h"
#include "storage/fleet_store.h"
#include "storage/sql_pool.h"

namespace paritect {

class FleetSql : public FleetStore {
 public:
  FleetSql(SqlPool::Open open_reader, int readers) : readers_(std::move(open_reader), readers) {}

  absl::Status Commit(absl::Span<const WriteSet* const> sets) override;
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view collection, absl::string_view key) override;
  absl::Status Scan(absl::string_view collection, absl::string_view prefix, absl::string_view after,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) override;
  absl::StatusOr<std::string> Content(absl::string_view sha256) override;
  absl::StatusOr<bool> HasContent(absl::string_view sha256) override;
  absl::StatusOr<bool> HasNode(absl::string_view sha256, int level) override;
  absl::Status ScanBatches(absl::string_view node, absl::FunctionRef<bool(const BatchWrite&)> visit) override;
  absl::StatusOr<std::int64_t> DropBatches(std::int64_t received_before_unix_ms) override;
  absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLog(std::int64_t from, int limit) override;
  using FleetStore::Verify;
  absl::StatusOr<std::vector<std::string>> Verify(absl::FunctionRef<bool()> stop) override;
  absl::Status Compact() override;
  absl::StatusOr<FleetStoreStats> Stats() override;

 protected:
  using Body = absl::FunctionRef<absl::Status(SqlConnection& writer)>;
  using Read = absl::FunctionRef<absl::Status(SqlConnection& reader)>;

  // One writing transaction: all that `body` does, or nothing. `body` may be run again from its beginning where the
  // database asks for that: it must not keep anything of a run that failed.
  virtual absl::Status Transact(Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) = 0;
  // One look, in a connection of its own. A connection that broke meanwhile is replaced once: `read` runs again.
  absl::Status Look(std::int64_t time_limit_ms, Read read);
  // Space that is free goes back to the file system, where the database does not do so by itself.
  virtual absl::Status GiveSpaceBack() { return absl::OkStatus(); }
  virtual absl::Status AddSizes(FleetStoreStats& stats) = 0;

  // Between two steps of housekeeping. A mutex is not fair: without a pause, who just gave it up takes it again.
  void LetOthersWrite() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  static constexpr std::int64_t kReadLimitMs = 30'000;       // of one page of rows
  static constexpr std::int64_t kVerifyLimitMs = 3'600'000;  // of the pages' check: the whole database

  absl::Mutex housekeeping_mutex_ ABSL_ACQUIRED_BEFORE(writer_mutex_);  // Backup and Compact: one at a time
  absl::Mutex writer_mutex_;
  std::optional<v1::AuditLogEntry> log_tail_ ABSL_GUARDED_BY(writer_mutex_);
  std::int64_t commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;  // of the database, as its tally has them
  std::vector<std::string> problems_;                        // constant once it is open
  SqlPool readers_;

 private:
  absl::Status NoteTouched(SqlConnection& writer, absl::Span<const WriteSet* const> sets)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  absl::Status DropContents(const std::vector<std::string>& digests, std::size_t at_once);

  std::atomic<int> commits_waiting_ = 0;
  // What commits wrote or referred to since it was set, with all below it: Compact must not drop it.
  std::unique_ptr<absl::flat_hash_set<std::string>> touched_ ABSL_GUARDED_BY(writer_mutex_);
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_SQL_H_
