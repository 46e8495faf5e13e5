#include "checks/series/curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr std::size_t kPairingStepsMin = 20;  // common steps that the correlation needs
constexpr std::size_t kPairingSkip = 5;       // the first steps fall steeply in every run

double Typical(const Curve& curve) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    gaps.push_back(static_cast<double>(curve.points[i].step - curve.points[i - 1].step));
  }
  return gaps.empty() ? 1 : Median(std::move(gaps));
}

// Whether the first mean of `coarse` is one over all steps of the run so far, and `fine` prints them from the first on.
bool BeginsWithTheRun(const Curve& fine, const Curve& coarse) {
  return static_cast<double>(coarse.points.front().step) <= Typical(coarse) &&
         static_cast<double>(fine.points.front().step) <= Typical(fine);
}

// `fine` averaged over the intervals of `coarse`: one point a coarse step whose interval is whole.
Curve AverageOver(const Curve& fine, const Curve& coarse) {
  const double gap = Typical(fine);
  Curve result;
  result.engine = fine.engine;
  result.interval_means = true;
  std::size_t next = 0;
  for (std::size_t i = 0; i < coarse.points.size(); ++i) {
    const std::int64_t end = coarse.points[i].step;
    double sum = 0;
    int count = 0;
    const CurvePoint* last = nullptr;
    while (next < fine.points.size() && fine.points[next].step <= end) {
      last = &fine.points[next];
      sum += last->value;
      ++count;
      ++next;
    }
    if (last == nullptr) continue;
    // The first interval begins with the run, where both logs do.
    if (i == 0 && !BeginsWithTheRun(fine, coarse)) continue;
    const std::int64_t before = i == 0 ? fine.points.front().step - std::llround(gap) : coarse.points[i - 1].step;
    const double whole = static_cast<double>(end - before) / gap;
    if (count + 0.5 < whole || last->step != end) continue;
    result.points.push_back({end, sum / count, last->resolution, last->where});
  }
  return result;
}

// Means over intervals, moved to where the other side prints single steps: a mean tells of the middle of its interval,
// (interval - 1) / 2 steps before its own. Between two means by a straight line; the last half interval has none.
Curve MovedToSteps(const Curve& means, const Curve& single) {
  const double behind = (Typical(means) - 1) / 2;
  Curve result;
  result.engine = means.engine;
  std::size_t next = 0;
  for (const CurvePoint& point : single.points) {
    const double at = static_cast<double>(point.step) + behind;
    while (next < means.points.size() && static_cast<double>(means.points[next].step) < at) ++next;
    if (next == means.points.size()) break;
    const CurvePoint& right = means.points[next];
    if (next == 0) {
      if (static_cast<double>(right.step) > at) continue;
      result.points.push_back({point.step, right.value, right.resolution, right.where});
      continue;
    }
    const CurvePoint& left = means.points[next - 1];
    const double share =
        (at - static_cast<double>(left.step)) / static_cast<double>(std::max<std::int64_t>(1, right.step - left.step));
    result.points.push_back(
        {point.step, left.value + share * (right.value - left.value), right.resolution, left.where});
  }
  return result;
}

// One side prints means over intervals and the other single steps: brought to one quantity, else left as they are.
void BringTogether(const Curve& a, const Curve& b, Curve& changed, const Curve*& left, const Curve*& right,
                   bool& estimated) {
  const bool a_is_mean = a.interval_means;
  const Curve& means = a_is_mean ? a : b;
  const Curve& single = a_is_mean ? b : a;
  if (Typical(means) <= 1) return;
  if (Typical(single) < Typical(means)) {
    changed = AverageOver(single, means);
    (a_is_mean ? right : left) = &changed;
  } else {
    changed = MovedToSteps(means, single);
    estimated = true;
    (a_is_mean ? left : right) = &changed;
  }
}

// How many log lines from the end make the last tenth.
std::size_t TailCount(std::size_t n) {
  return std::max<std::size_t>(1, n / 10);
}

absl::Span<const double> Tail(const std::vector<double>& values) {
  const std::size_t count = TailCount(values.size());
  return absl::MakeConstSpan(values).subspan(values.size() - count);
}

int SmoothingWindow(std::size_t n) {
  return static_cast<int>(std::max<std::size_t>(10, n / 100));
}

void Measure(const AlignedCurves& curves, CurveComparison& result) {
  const std::size_t n = curves.steps.size();
  const double floor = SizeFloor(curves.a);
  for (std::size_t i = 0; i < n; ++i) {
    const double difference = RelativeDifference(curves.a[i], curves.b[i], floor);
    result.mean_relative_error += std::fabs(difference) / static_cast<double>(n);
    result.signed_mean_relative_error += difference / static_cast<double>(n);
    result.mean_absolute_error += std::fabs(curves.b[i] - curves.a[i]) / static_cast<double>(n);
    if (std::fabs(difference) > result.max_relative_error) {
      result.max_relative_error = std::fabs(difference);
      result.max_step = curves.steps[i];
    }
  }
  result.first_step = curves.steps.front();
  result.first_relative_error = std::fabs(RelativeDifference(curves.a.front(), curves.b.front(), floor));
  result.first_absolute_error = std::fabs(curves.b.front() - curves.a.front());
  const std::vector<double> smooth_a = Smooth(curves.a, SmoothingWindow(n));
  const std::vector<double> smooth_b = Smooth(curves.b, SmoothingWindow(n));
  for (std::size_t i = 0; i < n; ++i) {
    result.smoothed_relative_error +=
        std::fabs(RelativeDifference(smooth_a[i], smooth_b[i], floor)) / static_cast<double>(n);
  }
  result.tail_relative_difference = RelativeDifference(Mean(Tail(curves.a)), Mean(Tail(curves.b)), floor);
}

// Of curves that do not agree: since when.
void FindOnset(const AlignedCurves& curves, double dead_zone, CurveComparison& result) {
  const bool paired = result.mode == CurveMode::kPaired;
  const int window = SmoothingWindow(curves.steps.size());
  const std::vector<double> a = paired ? curves.a : Smooth(curves.a, window);
  const std::vector<double> b = paired ? curves.b : Smooth(curves.b, window);
  const std::vector<double> relative = RelativeDifferences(a, b, SizeFloor(curves.a));
  // What two shuffles differ by anyway is no onset.
  std::vector<double> sizes;
  for (double one : relative) sizes.push_back(std::fabs(one));
  const double zone = paired ? dead_zone : std::max(dead_zone, 2 * Median(std::move(sizes)));
  std::optional<std::size_t> onset = DeadZoneOnset(relative, zone);
  if (!onset.has_value()) onset = DeadZoneOnset(relative, dead_zone);
  if (onset.has_value()) {
    result.first_divergent_step = curves.steps[*onset];
  }
}

void ChooseMode(const AlignedCurves& curves, const CurveLimits& limits, std::optional<bool> same_order,
                CurveComparison& result) {
  const std::size_t n = curves.steps.size();
  if (n >= kPairingStepsMin) {
    const std::size_t skip = n > 2 * kPairingStepsMin ? kPairingSkip : 0;
    result.correlation =
        DifferenceCorrelation(absl::MakeConstSpan(curves.a).subspan(skip), absl::MakeConstSpan(curves.b).subspan(skip));
  }
  if (curves.estimated) {
    result.mode = CurveMode::kUnpaired;  // a mean does not follow the noise of single steps
  } else if (same_order.has_value()) {
    result.mode = *same_order ? CurveMode::kPaired : CurveMode::kUnpaired;
  } else if (curves.a == curves.b) {
    result.mode = CurveMode::kPaired;
  } else if (result.correlation.has_value()) {
    result.mode = *result.correlation > limits.pairing_correlation ? CurveMode::kPaired : CurveMode::kUnpaired;
  }
}

double MeanRounding(const AlignedCurves& curves) {
  const double floor = SizeFloor(curves.a);
  double sum = 0;
  for (std::size_t i = 0; i < curves.steps.size(); ++i) {
    const double size = std::max(std::fabs(curves.a[i]), floor);
    if (size > 0) sum += curves.rounding[i] / size;
  }
  return sum / static_cast<double>(curves.steps.size());
}

// Curves that part at their end have parted, however long they agreed before (checklist: "the curve or its end"). The
// mean of the last tenth decides, and a fifth of its steps must lie beyond on that side: a spike is not an end.
bool EndsApart(const AlignedCurves& curves, const CurveLimits& limits, const CurveComparison& result) {
  constexpr std::size_t kStepsBeyondMin = 3;
  const double difference = result.tail_relative_difference;
  const std::size_t n = curves.steps.size();
  const std::size_t count = TailCount(n);
  if (std::fabs(difference) <= limits.tail_relative || count < kStepsBeyondMin) return false;
  const double floor = SizeFloor(curves.a);
  std::size_t beyond = 0;
  std::size_t at_the_end = 0;  // in a row up to the last step: nothing came back
  double absolute = 0;
  for (std::size_t i = n - count; i < n; ++i) {
    const double one = curves.b[i] - curves.a[i];
    absolute += one / static_cast<double>(count);
    const bool is_beyond =
        one * difference > 0 && std::fabs(one) > limits.tail_relative * std::max(std::fabs(curves.a[i]), floor);
    beyond += is_beyond ? 1 : 0;
    at_the_end = is_beyond ? at_the_end + 1 : 0;
  }
  if (std::fabs(absolute) < limits.mean_absolute) return false;
  return beyond >= std::max(kStepsBeyondMin, count / 5) || at_the_end >= std::max<std::size_t>(5, count / 20);
}

CurveVerdict PairedVerdict(const AlignedCurves& curves, const CurveLimits& limits, CurveComparison& result) {
  const bool within =
      result.mean_relative_error <= limits.mean_relative || result.mean_absolute_error < limits.mean_absolute;
  if (within && EndsApart(curves, limits, result)) {
    result.tail_alone = true;
    result.lower = result.tail_relative_difference < 0;
    return CurveVerdict::kDiffer;
  }
  const double rounding = MeanRounding(curves);
  if (result.mean_relative_error < std::max(limits.mean_relative_pass, rounding)) return CurveVerdict::kAgree;
  if (result.mean_absolute_error < limits.mean_absolute) {
    result.small_values = result.mean_relative_error > limits.mean_relative;
    return CurveVerdict::kAgree;
  }
  result.lower = result.signed_mean_relative_error < 0;
  return result.mean_relative_error > std::max(limits.mean_relative, rounding) ? CurveVerdict::kDiffer
                                                                               : CurveVerdict::kNearLimit;
}

// Two equal trainings over few, noisy steps exceed any fixed limit on smoothed curves: of 300 simulated pairs with 10 %
// noise over 60 steps all do. So only what is beyond the noise counts as a difference, and what is above a limit and
// within the noise is not decided. With the built-in standard errors, under 2 % of such pairs are called different.
bool BeyondNoise(const AlignedCurves& curves, const CurveLimits& limits, double tail) {
  constexpr double kLargest = 10;
  const std::size_t n = curves.steps.size();
  const std::vector<double> smooth = Smooth(curves.a, SmoothingWindow(n));
  const double floor = SizeFloor(curves.a);
  std::vector<double> relative;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::max(std::fabs(smooth[i]), floor);
    // A loss that explodes is no noise, however large its variance.
    relative.push_back(std::clamp(size > 0 ? (curves.b[i] - curves.a[i]) / size : 0, -kLargest, kLargest));
  }
  const std::size_t blocks = n >= 200 ? 10 : n >= 15 ? 5 : 1;
  const std::size_t size = n / blocks;
  if (size < 3) return false;
  const double variance = LongRunVariance(relative, blocks);
  const auto error_of_mean = [&](std::size_t count) { return std::sqrt(variance / static_cast<double>(count)); };
  if (std::fabs(Mean(relative)) - limits.noise_errors * error_of_mean(n) > limits.smoothed_relative) return true;
  if (tail - limits.noise_errors * error_of_mean(TailCount(n)) > limits.tail_relative) return true;
  double beyond = 0;
  for (std::size_t j = 0; j < blocks; ++j) {
    const double mean = Mean(absl::MakeConstSpan(relative).subspan(j * size, size));
    const double noise = limits.noise_errors_of_parts * error_of_mean(size);
    beyond += std::max(0.0, std::fabs(mean) - noise) / static_cast<double>(blocks);
  }
  return beyond > limits.smoothed_relative;
}

CurveVerdict UnpairedVerdict(const AlignedCurves& curves, const CurveLimits& limits, CurveComparison& result) {
  const double tail = std::fabs(result.tail_relative_difference);
  const bool tail_over = tail > limits.tail_relative;
  if (result.smoothed_relative_error <= limits.smoothed_relative && !tail_over) return CurveVerdict::kAgree;
  result.lower = tail_over ? result.tail_relative_difference < 0 : result.signed_mean_relative_error < 0;
  return BeyondNoise(curves, limits, tail) ? CurveVerdict::kDiffer : CurveVerdict::kInconclusive;
}

Curve Pointwise(const std::vector<const Curve*>& curves, double (*combine)(std::vector<double>)) {
  std::map<std::int64_t, std::vector<const CurvePoint*>> by_step;
  for (const Curve* curve : curves) {
    for (const CurvePoint& point : curve->points) by_step[point.step].push_back(&point);
  }
  Curve result;
  result.engine = curves[0]->engine;
  result.interval_means = curves[0]->interval_means;
  for (const auto& [step, points] : by_step) {
    if (points.size() != curves.size()) continue;
    CurvePoint point{step, 0, 0, points[0]->where};
    std::vector<double> values;
    for (const CurvePoint* one : points) {
      values.push_back(one->value);
      point.resolution = std::max(point.resolution, one->resolution);
    }
    point.value = combine(std::move(values));
    result.points.push_back(std::move(point));
  }
  return result;
}

}  // namespace

// What a difference is measured by, at least: 0 for values of one sign. Values that cross zero (the loss of a policy)
// are small by chance at some steps, where any difference would be large: their usual size counts.
double SizeFloor(absl::Span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (values.empty() || *low >= 0 || *high <= 0) return 0;
  std::vector<double> sizes;
  for (double value : values) sizes.push_back(std::fabs(value));
  return Median(std::move(sizes));
}

double RelativeDifference(double a, double b, double floor) {
  if (a == b) return 0;
  const double size = std::max(std::fabs(a), floor);
  return size > 0 ? (b - a) / size : (b > 0 ? 1 : -1);
}

std::vector<double> RelativeDifferences(absl::Span<const double> a, absl::Span<const double> b, double floor) {
  std::vector<double> result;
  result.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(RelativeDifference(a[i], b[i], floor));
  return result;
}

AlignedCurves Align(const Curve& a, const Curve& b) {
  AlignedCurves result;
  if (a.points.empty() || b.points.empty()) return result;
  Curve averaged;
  const Curve* left = &a;
  const Curve* right = &b;
  if (a.interval_means && b.interval_means && Typical(a) != Typical(b)) {
    const bool a_is_finer = Typical(a) < Typical(b);
    averaged = AverageOver(a_is_finer ? a : b, a_is_finer ? b : a);
    (a_is_finer ? left : right) = &averaged;
  } else if (a.interval_means != b.interval_means) {
    BringTogether(a, b, averaged, left, right, result.estimated);
  }
  auto it = right->points.begin();
  for (const CurvePoint& point : left->points) {
    while (it != right->points.end() && it->step < point.step) ++it;
    if (it == right->points.end()) break;
    if (it->step != point.step || !std::isfinite(point.value) || !std::isfinite(it->value)) continue;
    result.steps.push_back(point.step);
    result.a.push_back(point.value);
    result.b.push_back(it->value);
    result.rounding.push_back(point.resolution + it->resolution);
    auto at = std::lower_bound(b.points.begin(), b.points.end(), point.step,
                               [](const CurvePoint& p, std::int64_t step) { return p.step < step; });
    result.at_b.push_back(at == b.points.end() ? &b.points.back() : &*at);
  }
  const std::size_t shorter = std::min(left->points.size(), right->points.size());
  result.coverage = shorter > 0 ? static_cast<double>(result.steps.size()) / static_cast<double>(shorter) : 0;
  return result;
}

Curve PointwiseMean(const std::vector<const Curve*>& curves) {
  return Pointwise(curves, [](std::vector<double> values) { return Mean(values); });
}

Curve PointwiseMedian(const std::vector<const Curve*>& curves) {
  return Pointwise(curves, &Median);
}

RatioLimits RatioLimitsOf(const Profile& profile) {
  RatioLimits limits;
  limits.distance = profile.threshold("constant_ratio_distance");
  limits.spread = profile.threshold("constant_ratio_spread");
  limits.spreads = profile.threshold("constant_ratio_spreads");
  limits.whole = profile.threshold("constant_ratio_whole");
  return limits;
}

CurveLimits LimitsOf(const Profile& profile) {
  CurveLimits limits;
  limits.mean_relative_pass = profile.threshold("loss_mean_relative_error_pass");
  limits.mean_relative = profile.threshold("loss_mean_relative_error");
  limits.mean_absolute = profile.threshold("loss_mean_absolute_error");
  limits.smoothed_relative = profile.threshold("loss_smoothed_relative_error");
  limits.tail_relative = profile.threshold("loss_tail_relative_difference");
  limits.pairing_correlation = profile.threshold("pairing_correlation");
  limits.paired_difference = profile.threshold("paired_loss_difference");
  limits.onset_dead_zone = profile.threshold("onset_dead_zone");
  limits.noise_errors = profile.threshold("noise_errors");
  limits.noise_errors_of_parts = profile.threshold("noise_errors_of_parts");
  limits.single_step_far = profile.threshold("single_step_far");
  limits.running_mean_correlation = profile.threshold("running_mean_correlation");
  limits.running_mean_gain = profile.threshold("running_mean_gain");
  limits.stretch_share = profile.threshold("stretch_share");
  limits.stretch_chance = profile.threshold("stretch_chance");
  limits.live_gross = profile.threshold("live_gross_difference");
  limits.live_errors = profile.threshold("live_errors");
  limits.live_share_of_pass = profile.threshold("live_share_of_pass");
  limits.ratio = RatioLimitsOf(profile);
  return limits;
}

double WholeWithin(double ratio, double tolerance) {
  const double whole = ratio >= 1 ? std::round(ratio) : 1 / std::round(1 / ratio);
  return std::fabs(ratio / whole - 1) < tolerance ? whole : ratio;
}

absl::string_view TooFewSteps(const Profile& profile, double coverage) {
  return coverage < profile.threshold("coverage_min") ? "too_few_common_steps" : "too_few_common_steps/sparse";
}

std::optional<double> ConstantRatio(absl::Span<const double> a, absl::Span<const double> b, const RatioLimits& limits) {
  constexpr std::size_t kValuesMin = 5;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] > 0 && b[i] > 0) ratios.push_back(b[i] / a[i]);
  }
  if (ratios.size() < kValuesMin || ratios.size() * 10 < a.size() * 9) return std::nullopt;
  const double ratio = Median(ratios);
  const double distance = std::fabs(ratio - 1);
  const double spread = StandardDeviation(ratios);
  if (distance < limits.distance || distance < limits.spreads * spread) return std::nullopt;
  if (spread > limits.spread * ratio) return std::nullopt;
  // What scales a value scales its first one, too: curves that begin as one and part are no factor.
  if (std::fabs(ratios.front() - 1) < distance / 2) return std::nullopt;
  return WholeWithin(ratio, limits.whole);
}

namespace {

CurveComparison CompareAll(const AlignedCurves& curves, const CurveLimits& limits, std::optional<bool> same_order) {
  CurveComparison result;
  result.common_steps = static_cast<std::int64_t>(curves.steps.size());
  result.coverage = curves.coverage;
  if (curves.steps.empty()) {
    result.verdict = CurveVerdict::kInconclusive;
    return result;
  }
  ChooseMode(curves, limits, same_order, result);
  Measure(curves, result);
  result.verdict = result.mode == CurveMode::kPaired ? PairedVerdict(curves, limits, result)
                                                     : UnpairedVerdict(curves, limits, result);
  if (result.verdict != CurveVerdict::kAgree) FindOnset(curves, limits.onset_dead_zone, result);
  if (result.verdict == CurveVerdict::kDiffer) result.constant_ratio = ConstantRatio(curves.a, curves.b, limits.ratio);
  return result;
}

AlignedCurves WithoutStep(const AlignedCurves& curves, std::size_t at) {
  AlignedCurves rest = curves;
  const auto i = static_cast<std::ptrdiff_t>(at);
  rest.steps.erase(rest.steps.begin() + i);
  rest.a.erase(rest.a.begin() + i);
  rest.b.erase(rest.b.begin() + i);
  rest.rounding.erase(rest.rounding.begin() + i);
  rest.at_b.erase(rest.at_b.begin() + i);
  return rest;
}

// Whether the neighbours of a step far off are not: two steps in a row are no single one.
bool StandsAlone(const std::vector<double>& sizes, std::size_t at, double usual) {
  const auto near = [&](std::size_t i) { return i >= sizes.size() || sizes[i] <= usual; };
  return (at == 0 || near(at - 1)) && near(at + 1);
}

}  // namespace

// One step over a limit is never a failure (checklist): what only one step makes of two curves is not so. It also hides
// that all others move together.
CurveComparison Compare(const AlignedCurves& curves, const CurveLimits& limits, std::optional<bool> same_order) {
  constexpr std::size_t kStepsMin = 20;
  CurveComparison result = CompareAll(curves, limits, same_order);
  const bool decided = result.verdict == CurveVerdict::kAgree && result.mode == CurveMode::kPaired;
  if (decided || curves.steps.size() < kStepsMin) return result;
  std::vector<double> sizes;
  for (double one : RelativeDifferences(curves.a, curves.b, SizeFloor(curves.a))) sizes.push_back(std::fabs(one));
  const auto worst = std::max_element(sizes.begin(), sizes.end());
  const std::size_t at = static_cast<std::size_t>(worst - sizes.begin());
  const double far = limits.single_step_far * Median(sizes);
  if (!(*worst > far) || !StandsAlone(sizes, at, std::max(far, limits.mean_relative))) return result;
  CurveComparison rest = CompareAll(WithoutStep(curves, at), limits, same_order);
  if (rest.verdict == CurveVerdict::kDiffer || rest.verdict == CurveVerdict::kInconclusive) return result;
  rest.left_out = curves.steps[at];
  rest.left_out_is_last = at + 1 == sizes.size();
  rest.max_relative_error = result.max_relative_error;
  rest.max_step = result.max_step;
  return rest;
}

RepeatNoise NoiseOf(const std::vector<const Curve*>& curves, const CurveLimits& limits) {
  RepeatNoise noise;
  if (curves.size() < 2) return noise;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<const Curve*> others = curves;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Curve mean = PointwiseMean(others);
    const CurveComparison one = Compare(Align(mean, *curves[i]), limits);
    noise.mean_relative = std::max(noise.mean_relative, one.mean_relative_error);
    noise.mean_absolute = std::max(noise.mean_absolute, one.mean_absolute_error);
    noise.smoothed_relative = std::max(noise.smoothed_relative, one.smoothed_relative_error);
    noise.tail_relative = std::max(noise.tail_relative, std::fabs(one.tail_relative_difference));
  }
  return noise;
}

CurveLimits Widened(CurveLimits limits, const RepeatNoise& noise) {
  limits.mean_relative_pass = std::max(limits.mean_relative_pass, noise.mean_relative);
  limits.mean_relative = std::max(limits.mean_relative, noise.mean_relative);
  limits.smoothed_relative = std::max(limits.smoothed_relative, noise.smoothed_relative);
  limits.tail_relative = std::max(limits.tail_relative, noise.tail_relative);
  return limits;
}

std::vector<const Curve*> WithoutOddOnes(const std::vector<const Curve*>& curves, const CurveLimits& limits) {
  if (curves.size() < 3) return curves;
  const Curve median = PointwiseMedian(curves);
  std::vector<double> errors;
  for (const Curve* curve : curves) errors.push_back(Compare(Align(median, *curve), limits).smoothed_relative_error);
  const double limit = std::max(limits.smoothed_relative, 3 * Median(errors));
  std::vector<const Curve*> result;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (errors[i] <= limit) result.push_back(curves[i]);
  }
  return result.empty() ? curves : result;
}

void SetFacts(v1::Finding& finding, const CurveComparison& c) {
  SetFact(finding, "common_steps", c.common_steps);
  if (c.common_steps == 0) return;
  SetFact(finding, "first_step", c.first_step);
  SetFact(finding, "first_relative_error", c.first_relative_error);
  SetFact(finding, "mean_relative_error", c.mean_relative_error);
  SetFact(finding, "mean_absolute_error", c.mean_absolute_error);
  SetFact(finding, "max_relative_error", c.max_relative_error);
  SetFact(finding, "max_relative_error_step", c.max_step);
  SetFact(finding, "signed_mean_relative_error", c.signed_mean_relative_error);
  SetFact(finding, "smoothed_relative_error", c.smoothed_relative_error);
  SetFact(finding, "tail_relative_difference", c.tail_relative_difference);
  SetFact(finding, "mode", c.mode == CurveMode::kPaired ? "paired" : "unpaired");
  SetFact(finding, "coverage", c.coverage);
  if (c.correlation.has_value()) SetFact(finding, "difference_correlation", *c.correlation);
  if (c.first_divergent_step.has_value()) SetFact(finding, "first_divergent_step", *c.first_divergent_step);
  if (c.left_out.has_value()) SetFact(finding, "left_out_step", *c.left_out);
  if (c.constant_ratio.has_value()) SetFact(finding, "ratio", *c.constant_ratio);
}

}  // namespace paritect
