// How long to wait before the next try: full jitter, so that a fleet that lost its server does not come back as one.
#ifndef PARITECT_AGENT_UPLINK_BACKOFF_H_
#define PARITECT_AGENT_UPLINK_BACKOFF_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace paritect {

// The n-th failure in a row (from 0) waits a random time in [0, min(cap, base * 2^n)].
// Source: AWS Architecture Blog, "Exponential Backoff and Jitter" (2015): "full jitter".
class Backoff {
 public:
  using Random = std::function<double()>;  // [0, 1)

  Backoff(std::int64_t base_ms, std::int64_t cap_ms, Random random)
      : base_ms_(base_ms), cap_ms_(cap_ms), random_(std::move(random)) {}

  std::int64_t NextMs();
  // After a refusal that only a person can mend: the second half of the cap, whatever came before.
  std::int64_t RefusedMs() const;
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  const std::int64_t base_ms_;
  const std::int64_t cap_ms_;
  const Random random_;
  int failures_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_BACKOFF_H_
