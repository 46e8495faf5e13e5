#include "server/executor.h"

namespace paritect {

Executor::Executor() : thread_([this] { Loop(); }) {}

Executor::~Executor() {
  Stop();
}

void Executor::Post(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (!stopping_) work_.push_back(std::move(work));
}

void Executor::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Executor::Loop() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !work_.empty(); };
      mutex_.Await(absl::Condition(&due));
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace paritect
