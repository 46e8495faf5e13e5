#include "checks/runs/scale_bound.h"

#include <algorithm>
#include <cmath>

namespace paritect {
namespace {

constexpr double kPrintedDigits = 0.1;  // of a reduction: what rounding of printed scales may add

bool Bounded(const ScalerFacts& facts) {
  const bool known = facts.kind == ScalerKind::kDynamic && facts.window.has_value() && facts.growth.has_value() &&
                     facts.backoff.has_value();
  if (!known || facts.window->value < 1 || facts.growth->value <= 1) return false;
  if (facts.backoff->value <= 0 || facts.backoff->value >= 1) return false;
  return !facts.hysteresis.has_value() || facts.hysteresis->value <= 1;
}

}  // namespace

std::optional<std::int64_t> MostSkippedByScale(const OverflowCount& count, const ScalerFacts& facts) {
  if (!count.trail.has_value() || !Bounded(facts) || count.steps == 0) return std::nullopt;
  const ScaleTrail& trail = *count.trail;
  const double window = facts.window->value;
  // Unseen, the scale can lie lower than both printed ones around it by as many reductions as were raised again.
  const double unseen = 1 + static_cast<double>(trail.widest_gap) / window;
  if (trail.lowest * std::pow(facts.backoff->value, unseen) <= facts.floor()) return std::nullopt;

  const bool from_start = facts.made_new && facts.initial.has_value() && trail.first_step <= trail.steps_before;
  const std::int64_t span = trail.last_step - trail.first_step + (from_start ? trail.steps_before : 0);
  const double raises = std::floor(static_cast<double>(span) / window) + (from_start ? 0 : 1);
  const double start = from_start ? facts.initial->value : trail.first;
  const double fallen =
      (raises * std::log(facts.growth->value) + std::log(start / trail.last)) / -std::log(facts.backoff->value);
  const std::int64_t untold = trail.steps_after + (from_start ? 0 : trail.steps_before);
  return untold + std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(fallen + kPrintedDigits)));
}

}  // namespace paritect
