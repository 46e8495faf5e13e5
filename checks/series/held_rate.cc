#include "checks/series/held_rate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "rules/log_formats.h"

namespace paritect {
namespace {

constexpr std::size_t kAround = 50;  // records on either side
constexpr std::size_t kPairsMin = 5;

bool IsSkip(const v1::StepRecord& record) {
  return record.overflow() || record.skipped() > 0 || (record.has_grad_norm() && !std::isfinite(record.grad_norm()));
}

// The change of the rate from one record to the next step's; nullopt: not next to each other, or not printed.
std::optional<double> ChangeTo(const v1::StepRecord& from, const v1::StepRecord& to) {
  if (from.step_unknown() || to.step_unknown() || to.step() != from.step() + 1) return std::nullopt;
  if (!from.has_lr() || !to.has_lr()) return std::nullopt;
  return std::fabs(to.lr() - from.lr());
}

}  // namespace

HeldRate HeldRateAt(const std::vector<const v1::StepRecord*>& records, std::size_t at) {
  std::vector<double> usual;
  const std::size_t end = std::min(records.size(), at + kAround);
  for (std::size_t i = at > kAround ? at - kAround : 0; i + 1 < end; ++i) {
    if (IsSkip(*records[i]) || IsSkip(*records[i + 1])) continue;
    if (const std::optional<double> change = ChangeTo(*records[i], *records[i + 1])) usual.push_back(*change);
  }
  if (usual.size() < kPairsMin) return HeldRate::kUnknown;
  // A rate that stands still by itself, or that is printed with too few digits to be seen moving.
  const std::size_t moving =
      static_cast<std::size_t>(std::count_if(usual.begin(), usual.end(), [](double d) { return d > 0; }));
  if (moving * 10 < usual.size() * 9) return HeldRate::kUnknown;
  // One and the same point of the schedule prints one and the same rate. A small change is none of a skip: a cosine
  // hardly moves where it begins and ends.
  int moved = 0;
  for (const bool before : {true, false}) {
    if (before ? at == 0 : at + 1 >= records.size()) continue;
    const std::optional<double> change =
        before ? ChangeTo(*records[at - 1], *records[at]) : ChangeTo(*records[at], *records[at + 1]);
    if (!change.has_value()) return HeldRate::kUnknown;
    if (*change == 0) return HeldRate::kHeld;
    ++moved;
  }
  return moved == 2 ? HeldRate::kMoved : HeldRate::kUnknown;
}

bool ScheduleCountsUpdates(const std::string& format) {
  return FactsOfLogFormat(format).schedule_counts_updates;
}

}  // namespace paritect
