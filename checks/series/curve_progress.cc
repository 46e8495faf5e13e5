#include "checks/series/curve_progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr std::size_t kShortest = 50;  // a curve that is judged has so many steps (common_steps_min)
constexpr std::size_t kRecent = 20;
constexpr int kUnpairedWindow = 10;
constexpr std::size_t kGrossRow = 10;

AlignedCurves Head(const AlignedCurves& curves, std::size_t n) {
  AlignedCurves head = curves;
  head.steps.resize(n);
  head.a.resize(n);
  head.b.resize(n);
  head.rounding.resize(n);
  head.at_b.resize(n);
  return head;
}

// Whether the steps before the newest ones move together: what has just parted must not decide it. Curves that follow
// each other closely need no correlation.
bool ArePaired(const AlignedCurves& curves, const CurveLimits& limits, const std::vector<double>& differences,
               std::size_t newest, std::optional<bool> same_order) {
  if (curves.estimated) return false;
  if (same_order.has_value()) return *same_order;
  std::vector<double> sizes;
  for (double one : differences) sizes.push_back(std::fabs(one));
  if (Median(std::move(sizes)) <= limits.paired_difference) return true;
  const std::size_t n = curves.steps.size();
  const std::size_t head = n > newest + kRecent ? n - newest : std::min(n, kRecent + 5);
  return head > kRecent && Compare(Head(curves, head), limits).mode == CurveMode::kPaired;
}

struct Sums {
  double relative = 0;
  double absolute = 0;
};

Sums SumOf(const AlignedCurves& curves, const std::vector<double>& differences, std::size_t from) {
  Sums sums;
  for (std::size_t i = from; i < differences.size(); ++i) {
    sums.relative += std::fabs(differences[i]);
    sums.absolute += std::fabs(curves.b[i] - curves.a[i]);
  }
  return sums;
}

// Where the newest stretch beyond `level` begins; single steps within it do not end it.
std::size_t Since(const std::vector<double>& differences, double level, int window) {
  const std::vector<double> smooth = Smooth(differences, window);
  std::size_t at = smooth.size() - 1;
  while (at > 0 && std::fabs(smooth[at - 1]) > level) --at;
  return at;
}

// The newest `count` steps lie on one side, beyond the limit of the last tenth, as the offline check asks of an end.
bool EndIsApart(const AlignedCurves& curves, const CurveLimits& limits, const std::vector<double>& differences,
                std::size_t count) {
  const std::size_t n = differences.size();
  if (n < count) return false;
  const auto newest = [&](const std::vector<double>& values) { return absl::MakeConstSpan(values).subspan(n - count); };
  const double apart = RelativeDifference(Mean(newest(curves.a)), Mean(newest(curves.b)), SizeFloor(curves.a));
  if (std::fabs(apart) <= limits.tail_relative) return false;
  if (std::fabs(Mean(newest(curves.b)) - Mean(newest(curves.a))) < limits.mean_absolute) return false;
  const std::size_t beyond = static_cast<std::size_t>(
      std::count_if(differences.end() - static_cast<std::ptrdiff_t>(count), differences.end(),
                    [&](double one) { return one * apart > 0 && std::fabs(one) > limits.tail_relative; }));
  return beyond >= std::max<std::size_t>(3, count / 5);
}

std::optional<Parting> FindPaired(const AlignedCurves& curves, const CurveLimits& limits, double whole,
                                  const std::vector<double>& differences) {
  const std::size_t n = differences.size();
  const auto newest = std::max<std::size_t>(10, static_cast<std::size_t>(whole / 10));
  const Sums all = SumOf(curves, differences, 0);
  if (all.absolute <= limits.mean_absolute * limits.live_share_of_pass * whole)
    return std::nullopt;  // small values agree
  const bool certain = all.relative > limits.mean_relative * whole && all.absolute > limits.mean_absolute * whole;
  const bool ends_apart = EndIsApart(curves, limits, differences, newest) &&
                          all.relative >= limits.live_share_of_pass * limits.mean_relative_pass * whole;
  const auto quarter = std::max<std::size_t>(kShortest, static_cast<std::size_t>(whole / 4));
  const bool goes_on =
      n >= quarter && all.relative > limits.mean_relative_pass * whole && all.absolute > limits.mean_absolute * whole &&
      SumOf(curves, differences, n - quarter).relative > limits.mean_relative * static_cast<double>(quarter);
  if (!certain && !ends_apart && !goes_on) return std::nullopt;
  return Parting{n - 1, Since(differences, limits.mean_relative / 2, 3), limits.mean_relative, true};
}

// Two shuffles, or curves too short to tell: only what their noise does not explain.
std::optional<Parting> FindUnpaired(const AlignedCurves& curves, const CurveLimits& limits, double whole) {
  const std::size_t n = curves.steps.size();
  const double floor = SizeFloor(curves.a);
  const std::vector<double> smooth =
      RelativeDifferences(Smooth(curves.a, kUnpairedWindow), Smooth(curves.b, kUnpairedWindow), floor);
  std::size_t row = 0;
  double gross = 0;
  while (row < n && smooth[n - 1 - row] * smooth[n - 1] > 0 && std::fabs(smooth[n - 1 - row]) > limits.live_gross) {
    gross += std::fabs(smooth[n - 1 - row++]);
  }
  if (row >= kGrossRow && gross >= limits.live_share_of_pass * limits.mean_relative_pass * whole) {
    return Parting{n - 1, n - row, limits.live_gross, false};
  }
  if (n < kShortest) return std::nullopt;
  const std::vector<double> single = RelativeDifferences(Smooth(curves.a, kUnpairedWindow), curves.b, floor);
  const double variance = LongRunVariance(single, n >= 200 ? 10 : 5);
  for (auto count = std::max<std::size_t>(kRecent, static_cast<std::size_t>(whole / 10)); count <= n; count *= 2) {
    const double apart = Mean(absl::MakeConstSpan(single).subspan(n - count));
    const double error = std::sqrt(variance / static_cast<double>(count));
    const double used = std::fabs(apart) * static_cast<double>(count);
    if (std::fabs(apart) - limits.live_errors * error <= limits.tail_relative) continue;
    if (used < limits.live_share_of_pass * limits.smoothed_relative * whole) continue;
    return Parting{n - 1, std::min(n - count / 2, Since(smooth, limits.tail_relative, 1)), limits.tail_relative, false};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Parting> FindParting(const AlignedCurves& prefix, const CurveLimits& limits, std::size_t expected,
                                   std::optional<bool> same_order) {
  const std::size_t n = prefix.steps.size();
  if (n < 3) return std::nullopt;
  const auto whole = static_cast<double>(std::max({expected, kShortest, n}));
  std::vector<double> differences = RelativeDifferences(prefix.a, prefix.b, SizeFloor(prefix.a));
  for (std::size_t i = 0; i < n; ++i) {
    if (std::fabs(prefix.b[i] - prefix.a[i]) <= prefix.rounding[i]) differences[i] = 0;
  }
  const auto newest = std::max<std::size_t>(kRecent, static_cast<std::size_t>(whole / 10));
  const bool paired = ArePaired(prefix, limits, differences, newest, same_order);
  std::optional<Parting> parting =
      paired ? FindPaired(prefix, limits, whole, differences) : FindUnpaired(prefix, limits, whole);
  if (parting || static_cast<double>(n) < 0.99 * whole) return parting;
  // The whole is there: what the check itself says.
  const CurveComparison last = Compare(prefix, limits, same_order);
  if (last.verdict != CurveVerdict::kDiffer) return std::nullopt;
  Parting end{n - 1, n - 1, limits.mean_relative, last.mode == CurveMode::kPaired};
  for (std::size_t i = 0; last.first_divergent_step.has_value() && i < n; ++i) {
    if (prefix.steps[i] == *last.first_divergent_step) end.since = i;
  }
  return end;
}

}  // namespace paritect
