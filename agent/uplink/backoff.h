// How long to wait before the next try: full jitter, so that a fleet that lost its server does not come back as one.
#ifndef PARITECT_AGENT_UPLINK_BACKOFF_H_
#define PARITECT_AGENT_UPLINK_BACKOFF_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace paritect {

// The n-th failure in a row (from 0) waits a random time in [0, min(cap, base * 2^n)].
// Source: AWS Architecture Blog, "Exponential Backoff and Jitter" (2015): "full jitter".
class Backoff {
 public:
  using Random = std::function<double()>;  // [0, 1)

  Backoff(std::int64_t base_ms, std::int64_t cap_ms, Random random)
      : base_ms_(base_ms), cap_ms_(cap_ms), random_(std::move(random)) {}

  // `below_ms`: a lower cap for this time.
  std::int64_t NextMs(std::int64_t below_ms = std::numeric_limits<std::int64_t>::max());
  // After a refusal that only a person can mend: between the cap and its double, whatever came before.
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
