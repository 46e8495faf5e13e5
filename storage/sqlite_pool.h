// A connection with its prepared statements, and a pool of read-only ones.
#ifndef PARITECT_STORAGE_SQLITE_POOL_H_
#define PARITECT_STORAGE_SQLITE_POOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "storage/sqlite.h"

namespace paritect {

// Not thread-safe: one user at a time.
class PreparedConnection {
 public:
  explicit PreparedConnection(SqliteConnection connection) : connection_(std::move(connection)) {}

  SqliteConnection& connection() { return connection_; }
  // The statement of this text, prepared once, reset and without parameters. `sql` must be a constant: it is found by
  // its address.
  absl::StatusOr<SqliteStatement*> Use(const char* sql);
  // Ends what statements still read: a snapshot held open would keep the log from being emptied.
  void ResetAll();

 private:
  SqliteConnection connection_;
  std::map<const char*, SqliteStatement> statements_;  // destroyed before the connection
};

// Read-only connections to one file. Thread-safe.
class ReaderPool {
 public:
  // A connection for one user; gives itself back. Every read in it must end within the time limit.
  class Lease {
   public:
    Lease(ReaderPool* pool, std::unique_ptr<PreparedConnection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    PreparedConnection& operator*() const { return *connection_; }
    PreparedConnection* operator->() const { return connection_.get(); }

   private:
    ReaderPool* pool_;
    std::unique_ptr<PreparedConnection> connection_;
  };

  ReaderPool(absl::string_view path, int size) : path_(path), left_(size) {}
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  // Waits for a free one. DeadlineExceeded: none became free in time.
  absl::StatusOr<Lease> Take(std::int64_t time_limit_ms);

 private:
  bool Available() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !idle_.empty() || left_ > 0; }
  absl::StatusOr<std::unique_ptr<PreparedConnection>> OpenOne() const;
  void GiveBack(std::unique_ptr<PreparedConnection> connection);

  const std::string path_;
  absl::Mutex mutex_;
  int left_ ABSL_GUARDED_BY(mutex_);  // not opened yet
  std::vector<std::unique_ptr<PreparedConnection>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_SQLITE_POOL_H_
