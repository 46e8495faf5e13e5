#include "agent/uplink/backoff.h"

#include <algorithm>

namespace paritect {

std::int64_t Backoff::NextMs(std::int64_t below_ms) {
  constexpr int kDoublingsMax = 30;  // beyond any cap, and no overflow
  const std::int64_t bound = std::min({cap_ms_, below_ms, base_ms_ << std::min(failures_, kDoublingsMax)});
  ++failures_;
  return static_cast<std::int64_t>(random_() * static_cast<double>(bound + 1));
}

std::int64_t Backoff::RefusedMs() const {
  return cap_ms_ + static_cast<std::int64_t>(random_() * static_cast<double>(cap_ms_ + 1));
}

}  // namespace paritect
