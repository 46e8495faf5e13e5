#include "agent/uplink/backoff.h"

#include <algorithm>

namespace paritect {

std::int64_t Backoff::NextMs() {
  constexpr int kDoublingsMax = 30;  // beyond any cap, and no overflow
  const std::int64_t bound = std::min(cap_ms_, base_ms_ << std::min(failures_, kDoublingsMax));
  ++failures_;
  return static_cast<std::int64_t>(random_() * static_cast<double>(bound + 1));
}

std::int64_t Backoff::RefusedMs() const {
  const std::int64_t half = cap_ms_ / 2;
  return half + static_cast<std::int64_t>(random_() * static_cast<double>(half + 1));
}

}  // namespace paritect
