#include "checks/series/curve_figures.h"

#include <algorithm>
#include <cmath>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr double kDeadZone = 0.01;

}  // namespace

std::optional<Interval> BiasInterval(const AlignedCurves& curves) {
  constexpr std::size_t kStepsMin = 6;
  const std::vector<double> differences = RelativeDifferences(curves.a, curves.b, SizeFloor(curves.a));
  const std::size_t n = differences.size();
  if (n < kStepsMin) return std::nullopt;
  const double variance = LongRunVariance(differences, n >= 200 ? 10 : n >= 15 ? 5 : 1);
  if (!(variance > 0)) return std::nullopt;
  // As many independent observations as have this variance of the mean.
  const double spread = StandardDeviation(differences);
  const double independent =
      std::clamp(static_cast<double>(n) * spread * spread / variance, 2.0, static_cast<double>(n));
  const double half = StudentTQuantile(0.975, independent - 1) * std::sqrt(variance / static_cast<double>(n));
  const double mean = Mean(differences);
  return Interval{mean - half, mean + half};
}

std::optional<std::int64_t> DivergesSince(const AlignedCurves& curves, bool paired) {
  const std::size_t n = curves.steps.size();
  if (n == 0) return std::nullopt;
  // A window that does not follow the length, so that a prefix is judged as it will be in the whole.
  constexpr int kWindow = 10;
  const std::vector<double> differences =
      paired ? RelativeDifferences(curves.a, curves.b, SizeFloor(curves.a))
             : RelativeDifferences(Smooth(curves.a, kWindow), Smooth(curves.b, kWindow), SizeFloor(curves.a));
  const std::optional<std::size_t> onset = DeadZoneOnset(differences, kDeadZone);
  return onset.has_value() ? std::optional<std::int64_t>(curves.steps[*onset]) : std::nullopt;
}

}  // namespace paritect
