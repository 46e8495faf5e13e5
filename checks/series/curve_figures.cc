#include "checks/series/curve_figures.h"

#include <algorithm>
#include <cmath>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr double kSigmaOfMad = 1.4826;  // of a normal distribution

double DeviationOf(const std::vector<double>& values) {
  const double median = Median(values);
  std::vector<double> sizes;
  for (const double one : values) sizes.push_back(std::fabs(one - median));
  return kSigmaOfMad * Median(std::move(sizes));
}

// The variance of single differences, or what the means of blocks say of it where neighbours move together; a stretch
// that leaves, and single spikes, do not count.
double NoiseVariance(const std::vector<double>& differences) {
  constexpr std::size_t kBlock = 10;
  const double single = DeviationOf(differences);
  std::vector<double> means;
  for (std::size_t at = 0; at + kBlock <= differences.size(); at += kBlock) {
    means.push_back(Mean(absl::MakeConstSpan(differences).subspan(at, kBlock)));
  }
  const double block = means.size() < 5 ? 0 : DeviationOf(means);
  return std::max(single * single, static_cast<double>(kBlock) * block * block);
}

// Places of the stretch whose sum of (difference - limit) on one side is largest.
struct Places {
  std::size_t first = 0;
  std::size_t last = 0;
  double sum = 0;
};

Places LargestSum(const std::vector<double>& differences, double sign, double limit, std::size_t skip) {
  Places best;
  double sum = 0;
  std::size_t first = skip;
  for (std::size_t i = skip; i < differences.size(); ++i) {
    if (sum <= 0) {
      sum = 0;
      first = i;
    }
    sum += sign * differences[i] - limit;
    if (sum > best.sum) best = {first, i, sum};
  }
  return best;
}

// Differences step by step; of two shuffles against the smoothed baseline, since a low value by chance is no measure.
std::vector<double> StepDifferences(const AlignedCurves& curves, bool paired) {
  constexpr int kWindow = 10;
  const double floor = SizeFloor(curves.a);
  const std::vector<double> sizes = paired ? curves.a : Smooth(curves.a, kWindow);
  std::vector<double> differences;
  for (std::size_t i = 0; i < curves.steps.size(); ++i) {
    const double one = curves.b[i] - curves.a[i];
    const double size = std::max(std::fabs(sizes[i]), floor);
    const bool rounded = std::fabs(one) <= curves.rounding[i];
    differences.push_back(rounded ? 0 : size > 0 ? one / size : one > 0 ? 1 : -1);
  }
  return differences;
}

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

std::optional<std::int64_t> DivergesSince(const AlignedCurves& curves, double dead_zone, bool paired) {
  const std::size_t n = curves.steps.size();
  if (n == 0) return std::nullopt;
  // A window that does not follow the length, so that a prefix is judged as it will be in the whole.
  constexpr int kWindow = 10;
  const std::vector<double> differences =
      paired ? RelativeDifferences(curves.a, curves.b, SizeFloor(curves.a))
             : RelativeDifferences(Smooth(curves.a, kWindow), Smooth(curves.b, kWindow), SizeFloor(curves.a));
  const std::optional<std::size_t> onset = DeadZoneOnset(differences, dead_zone);
  return onset.has_value() ? std::optional<std::int64_t>(curves.steps[*onset]) : std::nullopt;
}

std::optional<Stretch> FindStretch(const AlignedCurves& curves, const CurveLimits& limits, bool paired,
                                   double steps_min) {
  constexpr std::size_t kPointsMin = 3;
  const std::size_t n = curves.steps.size();
  if (n < 2 * kPointsMin) return std::nullopt;
  const std::vector<double> differences = StepDifferences(curves, paired);
  const double limit = paired ? limits.mean_relative : limits.tail_relative;
  const double variance = NoiseVariance(differences);
  const double gap = static_cast<double>(curves.steps.back() - curves.steps.front()) / static_cast<double>(n - 1);
  std::optional<Stretch> worst;
  double worst_sum = 0;
  for (const double sign : {1.0, -1.0}) {
    // A walk with this drift exceeds the level somewhere with that chance.
    const double drift = limit - std::max(0.0, sign * Median(differences));
    if (drift < limit / 4) continue;
    const double level = variance * std::log(static_cast<double>(n) / limits.stretch_chance) / (2 * drift);
    const Places at = LargestSum(differences, sign, limit, std::max<std::size_t>(1, n / 20));
    if (!(at.sum > std::max(level, worst_sum))) continue;
    const std::size_t count = at.last - at.first + 1;
    const double covered = static_cast<double>(curves.steps[at.last] - curves.steps[at.first]) + gap;
    if (count < kPointsMin || covered < steps_min * (1 - 1e-9)) continue;
    const auto part = absl::MakeConstSpan(differences).subspan(at.first, count);
    const auto beyond = std::count_if(part.begin(), part.end(), [&](double one) { return sign * one > limit; });
    const double apart = Mean(absl::MakeConstSpan(curves.b).subspan(at.first, count)) -
                         Mean(absl::MakeConstSpan(curves.a).subspan(at.first, count));
    if (static_cast<double>(beyond) < limits.stretch_share * static_cast<double>(count)) continue;
    if (std::fabs(apart) < limits.mean_absolute) continue;
    worst_sum = at.sum;
    worst = Stretch{curves.steps[at.first], curves.steps[at.last], Mean(part), at.last + kPointsMin >= n};
  }
  return worst;
}

}  // namespace paritect
