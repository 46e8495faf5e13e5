#include "checks/series/gradient_ratio.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr std::size_t kStepsMin = 5;
constexpr std::size_t kStepsMax = 30;  // of the growth: later the runs have parted for good

// The slope of log(ratio) over log(step), and how straight that line is.
struct Line {
  double slope = 0;
  double correlation = 0;
};

Line FitLine(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = Mean(x);
  const double mean_y = Mean(y);
  double xy = 0;
  double xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return {xx > 0 ? xy / xx : 0, Correlation(x, y).value_or(0)};
}

constexpr double kJump = 10;    // a ratio that noise between two data orders does not reach
constexpr double kFarTail = 5;  // of the last tenth's median

// Ratios at the end and far from one, whatever their pattern.
void MeasureJumps(const std::vector<double>& ratios, const std::vector<std::int64_t>& steps, GradientRatio& result) {
  const std::size_t tail = std::max<std::size_t>(kStepsMin, ratios.size() / 10);
  result.tail_ratio = Median(std::vector<double>(ratios.end() - static_cast<std::ptrdiff_t>(tail), ratios.end()));
  const std::size_t many = std::max<std::size_t>(3, ratios.size() / 20);
  std::size_t in_a_row = 0;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (ratios[i] > result.largest) {
      result.largest = ratios[i];
      result.largest_step = steps[i];
    }
    result.baseline_jumps += ratios[i] < 1 / kJump ? 1 : 0;
    result.jumps += ratios[i] > kJump ? 1 : 0;
    in_a_row = ratios[i] > kJump ? in_a_row + 1 : 0;
    if (in_a_row != many || result.pattern == GradientPattern::kExploding) continue;
    result.pattern = GradientPattern::kExploding;
    result.explodes_at = steps[i + 1 - many];
  }
  if (result.pattern == GradientPattern::kExploding || result.tail_ratio < kFarTail) return;
  result.pattern = GradientPattern::kExploding;
  std::size_t first = ratios.size();
  while (first > 0 && ratios[first - 1] > kFarTail / 2) --first;
  result.explodes_at = steps[std::min(first, ratios.size() - 1)];
}

constexpr std::size_t kPeriodMax = 16;
constexpr double kNormPrinted = 0.01;  // what a log with three places behind the point does not print as 0

// Whether a line through the growth of (1, 2, 3 ...) is that of gradients that add up: the sum of n gradients is
// between sqrt(n) (all different) and n times (all alike) as long as one, and the first has nothing to be added to.
bool AddsUp(const Line& line, double at_first, double at_last, double last_at_least) {
  return line.slope > 0.4 && line.slope < 1.3 && line.correlation > 0.95 && at_first > 0.7 && at_first < 1.4 &&
         at_last > last_at_least;
}

// Gradients that are cleared every few steps only: the ratio grows 1, 2 ... n and begins anew. 0: no such period.
std::size_t FindPeriod(const std::vector<double>& ratios, const std::vector<std::int64_t>& steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] != steps[i - 1] + 1) return 0;
  }
  for (std::size_t period = 2; period <= kPeriodMax && period * 4 <= ratios.size(); ++period) {
    for (std::size_t offset = 0; offset < period; ++offset) {
      std::vector<std::vector<double>> phases(period);
      for (std::size_t i = 0; i < ratios.size(); ++i) phases[(i + offset) % period].push_back(std::log(ratios[i]));
      std::vector<double> x;
      std::vector<double> y;
      double within = 0;
      for (std::size_t k = 0; k < period; ++k) {
        x.push_back(std::log(static_cast<double>(k + 1)));
        y.push_back(Median(phases[k]));
        for (double value : phases[k]) within += std::fabs(value - y.back());
      }
      within /= static_cast<double>(ratios.size());
      const Line line = FitLine(x, y);
      const double growth = y.back() - y.front();
      const bool rising = std::is_sorted(y.begin(), y.end());
      if (rising && within < 0.25 * growth && AddsUp(line, std::exp(y.front()), std::exp(y.back()), 1.35))
        return period;
    }
  }
  return 0;
}

}  // namespace

ZeroNorms FindZeroNorms(const AlignedCurves& norms) {
  ZeroNorms zero;
  zero.common = static_cast<std::int64_t>(norms.steps.size());
  for (std::size_t i = 0; i < norms.steps.size(); ++i) {
    if (norms.b[i] != 0 || !(norms.a[i] > kNormPrinted)) continue;
    if (zero.steps++ == 0) zero.first = norms.steps[i];
  }
  return zero;
}

std::optional<GradientRatio> CompareGradients(const AlignedCurves& norms) {
  std::vector<double> ratios;
  std::vector<std::int64_t> steps;
  std::vector<double> log_steps;
  std::vector<double> log_ratios;
  GradientRatio result;
  const std::int64_t before = norms.steps.empty() || norms.steps.front() > 0 ? 0 : 1 - norms.steps.front();
  for (std::size_t i = 0; i < norms.steps.size(); ++i) {
    if (!(norms.a[i] > 0) || !(norms.b[i] > 0)) continue;
    ratios.push_back(norms.b[i] / norms.a[i]);
    steps.push_back(norms.steps[i]);
    if (log_steps.size() >= kStepsMax) continue;
    log_steps.push_back(std::log(static_cast<double>(norms.steps[i] + before)));
    log_ratios.push_back(std::log(ratios.back()));
    result.last_step = norms.steps[i];
  }
  if (ratios.size() < kStepsMin) return std::nullopt;
  result.steps = static_cast<std::int64_t>(ratios.size());
  result.ratio = Median(ratios);
  if (const std::optional<double> constant = ConstantRatio(norms.a, norms.b)) {
    result.pattern = GradientPattern::kConstantRatio;
    result.ratio = *constant;
    return result;
  }
  const Line line = FitLine(log_steps, log_ratios);
  const double at_first = std::exp(log_ratios.front() - line.slope * log_steps.front());
  const double at_last = std::exp(log_ratios.back());
  if (AddsUp(line, at_first, at_last, 2)) {
    result.pattern = GradientPattern::kGrowing;
    result.ratio = at_last;
    result.exponent = line.slope;
    return result;
  }
  if (const std::size_t period = FindPeriod(ratios, steps); period > 0) {
    result.pattern = GradientPattern::kPeriodic;
    result.period = static_cast<std::int64_t>(period);
    result.ratio = *std::max_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(2 * period));
    return result;
  }
  MeasureJumps(ratios, steps, result);
  return result;
}

}  // namespace paritect
