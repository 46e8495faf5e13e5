#include "server/call_rate.h"

#include "absl/hash/hash.h"

namespace paritect {
namespace {

constexpr std::int64_t kPartsOfACall = 1000;  // so that one millisecond gives some
// Agents' certificates are replaced twice a day; then all begin anew.
constexpr std::size_t kKnownMax = 100'000;

}  // namespace

bool CallRate::Take(absl::string_view certificate, std::int64_t now_ms) {
  const std::size_t key = absl::HashOf(certificate);
  absl::MutexLock lock(&mutex_);
  if (budgets_.size() >= kKnownMax) budgets_.clear();
  ByteBudget& budget =
      budgets_.try_emplace(key, kCallsAtOnce * kPartsOfACall, kCallsASecond * kPartsOfACall).first->second;
  return budget.Take(kPartsOfACall, now_ms);
}

}  // namespace paritect
