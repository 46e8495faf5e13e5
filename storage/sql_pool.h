// A pool of connections that only read.
#ifndef PARITECT_STORAGE_SQL_POOL_H_
#define PARITECT_STORAGE_SQL_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "storage/sql.h"

namespace paritect {

// Thread-safe.
class SqlPool {
 public:
  using Open = std::function<absl::StatusOr<std::unique_ptr<SqlConnection>>()>;

  // A connection for one user; gives itself back. Every read in it must end within the time limit.
  class Lease {
   public:
    Lease(SqlPool* pool, std::unique_ptr<SqlConnection> connection) : pool_(pool), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    SqlConnection& operator*() const { return *connection_; }
    SqlConnection* operator->() const { return connection_.get(); }

   private:
    SqlPool* pool_;
    std::unique_ptr<SqlConnection> connection_;
  };

  SqlPool(Open open, int size) : open_(std::move(open)), left_(size) {}
  SqlPool(const SqlPool&) = delete;
  SqlPool& operator=(const SqlPool&) = delete;

  // Waits for a free one. DeadlineExceeded: none became free in time.
  absl::StatusOr<Lease> Take(std::int64_t time_limit_ms);
  // Closes those that nobody has: where one broke, the others will have, too.
  void CloseIdle();

 private:
  bool Available() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !idle_.empty() || left_ > 0; }
  void GiveBack(std::unique_ptr<SqlConnection> connection);

  const Open open_;
  absl::Mutex mutex_;
  int left_ ABSL_GUARDED_BY(mutex_);  // not opened yet
  std::vector<std::unique_ptr<SqlConnection>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_SQL_POOL_H_
