#include "storage/sql_pool.h"

#include "absl/time/time.h"

namespace paritect {

SqlPool::Lease::~Lease() {
  if (connection_ != nullptr) pool_->GiveBack(std::move(connection_));
}

absl::StatusOr<SqlPool::Lease> SqlPool::Take(std::int64_t time_limit_ms) {
  std::unique_ptr<SqlConnection> connection;
  {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(this, &SqlPool::Available), absl::Milliseconds(time_limit_ms))) {
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
    auto opened = open_();
    if (!opened.ok()) {
      absl::MutexLock lock(&mutex_);
      ++left_;
      return opened.status();
    }
    connection = *std::move(opened);
  }
  connection->SetTimeLimit(time_limit_ms);
  return Lease(this, std::move(connection));
}

void SqlPool::CloseIdle() {
  std::vector<std::unique_ptr<SqlConnection>> idle;
  absl::MutexLock lock(&mutex_);
  idle.swap(idle_);
  left_ += static_cast<int>(idle.size());
}

void SqlPool::GiveBack(std::unique_ptr<SqlConnection> connection) {
  connection->ResetAll();
  if (connection->broken()) connection = nullptr;
  absl::MutexLock lock(&mutex_);
  if (connection == nullptr) {
    ++left_;
  } else {
    idle_.push_back(std::move(connection));
  }
}

}  // namespace paritect
