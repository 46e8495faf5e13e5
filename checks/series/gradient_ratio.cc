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

// Ratios at the end and far from one, whatever their pattern.
void MeasureJumps(const std::vector<double>& ratios, const std::vector<std::int64_t>& steps,
                  const GradientLimits& limits, GradientRatio& result) {
  const std::size_t tail = std::max<std::size_t>(kStepsMin, ratios.size() / 10);
  result.tail_ratio = Median(std::vector<double>(ratios.end() - static_cast<std::ptrdiff_t>(tail), ratios.end()));
  const double share = limits.jumps_share * static_cast<double>(ratios.size());
  const std::size_t many = std::max<std::size_t>(3, static_cast<std::size_t>(share));
  std::size_t in_a_row = 0;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (ratios[i] > result.largest) {
      result.largest = ratios[i];
      result.largest_step = steps[i];
    }
    result.baseline_jumps += ratios[i] < 1 / limits.jump ? 1 : 0;
    result.jumps += ratios[i] > limits.jump ? 1 : 0;
    in_a_row = ratios[i] > limits.jump ? in_a_row + 1 : 0;
    if (in_a_row != many || result.pattern == GradientPattern::kExploding) continue;
    result.pattern = GradientPattern::kExploding;
    result.explodes_at = steps[i + 1 - many];
  }
  if (result.pattern == GradientPattern::kExploding || result.tail_ratio < limits.far_tail) return;
  result.pattern = GradientPattern::kExploding;
  std::size_t first = ratios.size();
  while (first > 0 && ratios[first - 1] > limits.far_tail / 2) --first;
  result.explodes_at = steps[std::min(first, ratios.size() - 1)];
}

constexpr std::size_t kPeriodMax = 16;
constexpr double kNormPrinted = 0.01;  // what a log with three places behind the point does not print as 0

// Whether a line through the growth of (1, 2, 3 ...) is that of gradients that add up: the sum of n gradients is
// between sqrt(n) (all different) and n times (all alike) as long as one, and the first has nothing to be added to.
bool AddsUp(const GradientLimits& limits, const Line& line, double at_first, double at_last, double last_at_least) {
  return line.slope > limits.growth_slope_min && line.slope < limits.growth_slope_max &&
         line.correlation > limits.growth_fit && at_first > 1 / limits.growth_start && at_first < limits.growth_start &&
         at_last > last_at_least;
}

struct Period {
  std::size_t steps = 0;  // 0: none
  std::size_t first = 0;  // place of the first whole one
};

// Gradients that are cleared every few steps only: the ratio grows 1, 2 ... n and begins anew.
Period FindPeriod(const std::vector<double>& ratios, const std::vector<std::int64_t>& steps,
                  const GradientLimits& limits) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] != steps[i - 1] + 1) return {};
  }
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  for (std::size_t period = 2; period <= kPeriodMax && period * 4 <= ratios.size(); ++period) {
    // Steps that lie a whole number of periods apart; where a period begins only turns them round.
    std::vector<std::vector<double>> phases(period);
    for (std::size_t i = 0; i < logs.size(); ++i) phases[i % period].push_back(logs[i]);
    std::vector<double> medians;
    for (const std::vector<double>& phase : phases) medians.push_back(Median(phase));
    for (std::size_t offset = 0; offset < period; ++offset) {
      const auto phase_of = [&](std::size_t k) { return (k + period - offset) % period; };
      std::vector<double> x;
      std::vector<double> y;
      for (std::size_t k = 0; k < period; ++k) {
        x.push_back(std::log(static_cast<double>(k + 1)));
        y.push_back(medians[phase_of(k)]);
      }
      if (!std::is_sorted(y.begin(), y.end())) continue;
      double within = 0;
      for (std::size_t k = 0; k < period; ++k) {
        for (double value : phases[phase_of(k)]) within += std::fabs(value - y[k]);
      }
      within /= static_cast<double>(ratios.size());
      const Line line = FitLine(x, y);
      const double growth = y.back() - y.front();
      if (within < limits.period_spread * growth &&
          AddsUp(limits, line, std::exp(y.front()), std::exp(y.back()), limits.period_growth_least)) {
        return {period, (period - offset) % period};
      }
    }
  }
  return {};
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

namespace {

// The unit of the last digit where all norms are printed with three places or fewer: what differs by no more than that
// may be equal. 0: more places.
double PrintedUnit(const AlignedCurves& norms) {
  for (const double unit : {1.0, 0.1, 0.01, 0.001}) {
    const auto whole = [unit](double value) { return std::fabs(value / unit - std::round(value / unit)) < 1e-6; };
    if (std::all_of(norms.a.begin(), norms.a.end(), whole) && std::all_of(norms.b.begin(), norms.b.end(), whole)) {
      return unit;
    }
  }
  return 0;
}

struct Ratios {
  std::vector<double> values;  // `grown` over `other`
  std::vector<double> grown;
  std::vector<double> other;
  std::vector<std::int64_t> steps;
};

Ratios RatiosOf(const AlignedCurves& norms) {
  const double unit = PrintedUnit(norms);
  Ratios ratios;
  for (std::size_t i = 0; i < norms.steps.size(); ++i) {
    if (!(norms.a[i] > 0) || !(norms.b[i] > 0)) continue;
    const bool may_be_equal = std::fabs(norms.b[i] - norms.a[i]) <= unit * (1 + 1e-6);
    ratios.values.push_back(may_be_equal ? 1 : norms.b[i] / norms.a[i]);
    ratios.grown.push_back(norms.b[i]);
    ratios.other.push_back(norms.a[i]);
    ratios.steps.push_back(norms.steps[i]);
  }
  return ratios;
}

// Away from 1 by more than the limit, and by three times what it varies by from step to step.
bool IsConstant(const GradientRatio& ratio, const GradientLimits& limits) {
  constexpr double kLastBit = 1e-9;
  const double distance = std::fabs(ratio.ratio - 1);
  return distance > limits.ratio * (1 + kLastBit) && ratio.spread < limits.spread * distance;
}

// Whether the norms agree at first and are far apart at the end: they left, however long ago.
bool Leaves(const std::vector<double>& ratios, const GradientRatio& result, const GradientLimits& limits) {
  const auto tenth = static_cast<std::ptrdiff_t>(std::max<std::size_t>(kStepsMin, ratios.size() / 10));
  const double at_first = Median(std::vector<double>(ratios.begin(), ratios.begin() + tenth));
  return result.pattern == GradientPattern::kExploding && std::fabs(at_first - 1) <= limits.ratio;
}

void JudgeRatio(const Ratios& ratios, const GradientLimits& limits, bool paired, GradientRatio& result) {
  MeasureJumps(ratios.values, ratios.steps, limits, result);
  if (!IsConstant(result, limits) || Leaves(ratios.values, result, limits)) return;
  const double count = static_cast<double>(ratios.values.size());
  const double error = 1.4826 * 1.2533 * result.spread / std::sqrt(count) / result.ratio;  // of a median
  const double tolerance = std::clamp(limits.errors * error, limits.whole, std::max(limits.whole, limits.whole_max));
  const double whole = WholeWithin(result.ratio, tolerance);
  if (whole != 1) result.ratio = whole;
  result.unpaired_ratio = !paired;
  result.pattern = paired ? GradientPattern::kConstantRatio : GradientPattern::kAlike;
}

// Median growth from the first step of a period to its last.
double GrowthWithin(const Period& period, const std::vector<double>& values) {
  std::vector<double> growth;
  for (std::size_t i = period.first; i + period.steps <= values.size(); i += period.steps) {
    growth.push_back(values[i + period.steps - 1] / values[i]);
  }
  return Median(std::move(growth));
}

// Whether one side's norms grow by gradients that are not cleared, from step to step or anew every few steps.
bool FindGrowth(const Ratios& ratios, const GradientLimits& limits, GradientRatio& result) {
  const std::int64_t before = ratios.steps.front() > 0 ? 0 : 1 - ratios.steps.front();
  std::vector<double> log_steps;
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < std::min(kStepsMax, ratios.steps.size()); ++i) {
    log_steps.push_back(std::log(static_cast<double>(ratios.steps[i] + before)));
    log_ratios.push_back(std::log(ratios.values[i]));
    result.last_step = ratios.steps[i];
  }
  const Line line = FitLine(log_steps, log_ratios);
  const double at_first = std::exp(log_ratios.front() - line.slope * log_steps.front());
  const double at_last = std::exp(log_ratios.back());
  if (AddsUp(limits, line, at_first, at_last, limits.growth_least)) {
    result.pattern = GradientPattern::kGrowing;
    result.ratio = at_last;
    result.exponent = line.slope;
    return true;
  }
  const Period period = FindPeriod(ratios.values, ratios.steps, limits);
  // A ratio rises as well where the other side's norms swing downwards: that is no growth of this one.
  if (period.steps == 0 || GrowthWithin(period, ratios.grown) * GrowthWithin(period, ratios.other) <= 1) return false;
  result.pattern = GradientPattern::kPeriodic;
  result.period = static_cast<std::int64_t>(period.steps);
  result.ratio =
      *std::max_element(ratios.values.begin(), ratios.values.begin() + static_cast<std::ptrdiff_t>(2 * period.steps));
  return true;
}

}  // namespace

GradientLimits GradientLimitsOf(const Profile& profile) {
  GradientLimits limits;
  limits.ratio = profile.threshold("gradient_norm_relative_error");
  limits.spread = profile.threshold("gradient_ratio_spread");
  limits.jump = profile.threshold("gradient_jump");
  limits.far_tail = profile.threshold("gradient_far_tail");
  limits.whole = profile.threshold("constant_ratio_whole");
  limits.whole_max = profile.threshold("gradient_ratio_whole");
  limits.errors = profile.threshold("noise_errors");
  limits.jumps_share = profile.threshold("gradient_jumps_share");
  limits.growth_slope_min = profile.threshold("gradient_growth_slope_min");
  limits.growth_slope_max = profile.threshold("gradient_growth_slope_max");
  limits.growth_fit = profile.threshold("gradient_growth_fit");
  limits.growth_start = profile.threshold("gradient_growth_start");
  limits.growth_least = profile.threshold("gradient_growth_least");
  limits.period_growth_least = profile.threshold("gradient_period_growth_least");
  limits.period_spread = profile.threshold("gradient_period_spread");
  return limits;
}

std::optional<GradientRatio> CompareGradients(const AlignedCurves& norms, const GradientLimits& limits, bool paired) {
  const Ratios ratios = RatiosOf(norms);
  if (ratios.values.size() < kStepsMin) return std::nullopt;
  GradientRatio result;
  result.steps = static_cast<std::int64_t>(ratios.values.size());
  result.ratio = Median(ratios.values);
  std::vector<double> deviations;
  for (const double one : ratios.values) deviations.push_back(std::fabs(one - result.ratio));
  result.spread = Median(std::move(deviations));
  if (FindGrowth(ratios, limits, result)) return result;
  Ratios other = ratios;  // the baseline's norms over the migrated side's
  for (double& one : other.values) one = 1 / one;
  std::swap(other.grown, other.other);
  if (FindGrowth(other, limits, result)) {
    result.of_baseline = true;
    return result;
  }
  JudgeRatio(ratios, limits, paired, result);
  return result;
}

}  // namespace paritect
