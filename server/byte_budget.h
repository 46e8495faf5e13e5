// So many bytes at once, and then so many a second: what one node may have stored.
#ifndef PARITECT_SERVER_BYTE_BUDGET_H_
#define PARITECT_SERVER_BYTE_BUDGET_H_

#include <algorithm>
#include <cstdint>

namespace paritect {

// Not thread-safe.
class ByteBudget {
 public:
  ByteBudget(std::int64_t burst_bytes, std::int64_t bytes_per_s)
      : burst_bytes_(burst_bytes), bytes_per_s_(bytes_per_s), left_bytes_(burst_bytes) {}

  // Takes the bytes off what is left by now; false: there are not so many, and none was taken. A clock that steps back
  // gives nothing.
  bool Take(std::int64_t bytes, std::int64_t now_ms) {
    const std::int64_t full_ms = burst_bytes_ / bytes_per_s_ * 1000;
    const std::int64_t since_ms = at_ms_ == 0 ? 0 : std::clamp<std::int64_t>(now_ms - at_ms_, 0, full_ms);
    left_bytes_ = std::min(burst_bytes_, left_bytes_ + since_ms * bytes_per_s_ / 1000);
    at_ms_ = now_ms;
    if (left_bytes_ < bytes) return false;
    left_bytes_ -= bytes;
    return true;
  }

 private:
  const std::int64_t burst_bytes_;
  const std::int64_t bytes_per_s_;
  std::int64_t left_bytes_;
  std::int64_t at_ms_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_BYTE_BUDGET_H_
