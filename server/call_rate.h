// How many calls of one certificate's holder may begin: so many at once, and then so many a second.
//
// A call that is opened and reset at once (CVE-2023-44487) costs its sender some 40 bytes. gRPC 1.51 keeps some 12 KiB
// for it until its handler ran, and agents' messages wait behind those handlers (seen: 876 MiB after 15 s, and agents
// that delivered nothing for a minute and a half).
#ifndef PARITECT_SERVER_CALL_RATE_H_
#define PARITECT_SERVER_CALL_RATE_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/byte_budget.h"

namespace paritect {

// Thread-safe.
class CallRate {
 public:
  // Far above what scripts of the client need: each of its calls is a process with a handshake of its own.
  static constexpr int kCallsAtOnce = 500;
  static constexpr int kCallsASecond = 100;

  // `certificate`: any bytes that are its own. False: not now.
  bool Take(absl::string_view certificate, std::int64_t now_ms);

 private:
  absl::Mutex mutex_;
  // By a hash: what two that share one lose is little.
  std::unordered_map<std::size_t, ByteBudget> budgets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_CALL_RATE_H_
