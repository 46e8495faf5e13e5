// The same work for many things, on a few threads, with the results in the order of the things.
#ifndef PARITECT_COMMON_IN_ORDER_H_
#define PARITECT_COMMON_IN_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paritect {

// Calls `make(i)` for i in 0..count-1 on `threads` threads, several at once, and `take(result)` on the calling thread,
// in the order of i. Not more than `threads` results wait to be taken, so that memory does not grow with `count`.
// `make` must be safe to be called from several threads. With one thread, or one thing, no thread is started.
template <typename Make, typename Take>
void MakeInOrder(std::size_t count, int threads, Make make, Take take) {
  using Result = decltype(make(std::size_t{0}));
  if (threads < 2 || count < 2) {
    for (std::size_t i = 0; i < count; ++i) take(make(i));
    return;
  }
  const auto width = std::min(count, static_cast<std::size_t>(threads));
  struct Shared {
    absl::Mutex mutex;
    std::size_t next ABSL_GUARDED_BY(mutex) = 0;   // to be made
    std::size_t taken ABSL_GUARDED_BY(mutex) = 0;  // how many were
    std::vector<std::optional<Result>> ready ABSL_GUARDED_BY(mutex);
  } shared;
  {
    absl::MutexLock lock(&shared.mutex);
    shared.ready.resize(width);
  }
  const auto work = [&] {
    for (;;) {
      std::size_t i = 0;
      {
        absl::MutexLock lock(&shared.mutex);
        i = shared.next++;
        if (i >= count) return;
        const auto has_room = [&] {
          shared.mutex.AssertReaderHeld();
          return i < shared.taken + width;
        };
        shared.mutex.Await(absl::Condition(&has_room));
      }
      Result result = make(i);
      absl::MutexLock lock(&shared.mutex);
      shared.ready[i % width] = std::move(result);
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < width; ++t) workers.emplace_back(work);
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<Result> result;
    {
      absl::MutexLock lock(&shared.mutex);
      const auto is_ready = [&] {
        shared.mutex.AssertReaderHeld();
        return shared.ready[i % width].has_value();
      };
      shared.mutex.Await(absl::Condition(&is_ready));
      result.swap(shared.ready[i % width]);
      shared.taken = i + 1;
    }
    take(*std::move(result));
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace paritect

#endif  // PARITECT_COMMON_IN_ORDER_H_
