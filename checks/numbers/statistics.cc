#include "checks/numbers/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paritect {
namespace {

constexpr int kIterationsMax = 400;
constexpr double kTiny = 1e-300;

// Continued fraction of the incomplete beta function (Lentz). Source: Numerical Recipes, 6.4; DLMF 8.17.22.
double BetaFraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double h = d;
  for (int m = 1; m <= kIterationsMax; ++m) {
    for (int half = 0; half < 2; ++half) {
      const double term = half == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                    : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / (std::fabs(c) < kTiny ? kTiny : c);
      h *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return h;
}

// Regularised incomplete beta function I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

// Regularised lower incomplete gamma function P(a, x) by its series; fine for the small x used here.
double IncompleteGamma(double a, double x) {
  if (x <= 0) return 0;
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < 100000; ++n) {
    term *= x / (a + n);
    sum += term;
    if (term < sum * 1e-16) break;
  }
  return std::min(1.0, sum * std::exp(a * std::log(x) - x - std::lgamma(a)));
}

// The x in [low, high] with cdf(x) = p, by bisection: slow and sure.
template <typename Cdf>
double Invert(double low, double high, double p, Cdf cdf) {
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (cdf(middle) < p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low + (high - low) / 2;
}

double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// `values` without their mean and straight line.
std::vector<double> Detrended(absl::Span<const double> values) {
  const double mean = Mean(values);
  const double middle = (static_cast<double>(values.size()) - 1) / 2;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    xx += x * x;
    xy += x * (values[i] - mean);
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.push_back(values[i] - mean - xy / xx * (static_cast<double>(i) - middle));
  }
  return result;
}

double Variance(absl::Span<const double> values) {
  const double sd = StandardDeviation(values);
  return sd * sd;
}

}  // namespace

double Mean(absl::Span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double StandardDeviation(absl::Span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return lower + (upper - lower) / 2;
}

double Range(absl::Span<const double> values) {
  if (values.empty()) return 0;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high - *low;
}

double StudentTCdf(double t, double degrees) {
  const double tail = IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double StudentTQuantile(double p, double degrees) {
  double bound = 2;
  while (StudentTCdf(bound, degrees) < std::max(p, 1 - p) && bound < 1e12) bound *= 2;
  return Invert(-bound, bound, p, [degrees](double t) { return StudentTCdf(t, degrees); });
}

double ChiSquareCdf(double x, double degrees) {
  return IncompleteGamma(degrees / 2, x / 2);
}

double ChiSquareQuantile(double p, double degrees) {
  double bound = degrees + 10;
  while (ChiSquareCdf(bound, degrees) < p && bound < 1e9) bound *= 2;
  return Invert(0, bound, p, [degrees](double x) { return ChiSquareCdf(x, degrees); });
}

std::optional<WelchResult> WelchTest(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double va = Variance(a) / static_cast<double>(a.size());
  const double vb = Variance(b) / static_cast<double>(b.size());
  if (!(va + vb > 0)) return std::nullopt;
  WelchResult result;
  result.difference = Mean(b) - Mean(a);
  result.t = result.difference / std::sqrt(va + vb);
  result.degrees = (va + vb) * (va + vb) /
                   (va * va / static_cast<double>(a.size() - 1) + vb * vb / static_cast<double>(b.size() - 1));
  result.p = 2 * StudentTCdf(-std::fabs(result.t), result.degrees);
  return result;
}

std::optional<double> EquivalencePValue(absl::Span<const double> a, absl::Span<const double> b, double margin) {
  const std::optional<WelchResult> welch = WelchTest(a, b);
  if (!welch.has_value()) return std::nullopt;
  const double error =
      std::sqrt(Variance(a) / static_cast<double>(a.size()) + Variance(b) / static_cast<double>(b.size()));
  const double lower = StudentTCdf(-(welch->difference + margin) / error, welch->degrees);
  const double upper = StudentTCdf((welch->difference - margin) / error, welch->degrees);
  return std::max(lower, upper);
}

std::int64_t RunsNeeded(double sd, double margin) {
  constexpr std::int64_t kRunsMin = 3;
  constexpr double kRunsMax = 1e9;
  if (!(margin > 0) || !(sd > 0)) return kRunsMin;
  // One-sided 5 %, power 0.8. Student's quantiles depend on the answer: from the normal ones upwards until it stands.
  double alpha_plus_beta = 1.645 + 0.842;
  std::int64_t runs = kRunsMin;
  for (int i = 0; i < 20; ++i) {
    const double ratio = sd * alpha_plus_beta / margin;
    const std::int64_t next =
        std::max(kRunsMin, static_cast<std::int64_t>(std::ceil(std::min(2 * ratio * ratio, kRunsMax))));
    if (next == runs && i > 0) break;
    runs = next;
    const double degrees = 2 * static_cast<double>(runs) - 2;
    alpha_plus_beta = StudentTQuantile(0.95, degrees) + StudentTQuantile(0.8, degrees);
  }
  return runs;
}

std::optional<double> PredictionHalfWidth(double sd, int n, int k, double confidence) {
  if (n < 2 || k < 1) return std::nullopt;
  return StudentTQuantile(1 - (1 - confidence) / 2, n - 1) * sd * std::sqrt(1.0 / k + 1.0 / n);
}

std::optional<double> StandardDeviationUpperBound(double sd, int n) {
  if (n < 2) return std::nullopt;
  return sd * std::sqrt((n - 1) / ChiSquareQuantile(0.05, n - 1));
}

RateBounds RateInterval(std::int64_t hits, std::int64_t total) {
  constexpr double kTail = 0.025;
  RateBounds bounds;
  if (total <= 0) return bounds;
  const auto n = static_cast<double>(total);
  const auto x = static_cast<double>(std::clamp<std::int64_t>(hits, 0, total));
  // P(X >= x | low) = 2.5 % and P(X <= x | high) = 2.5 %, by the beta distribution.
  if (x > 0) bounds.low = Invert(0, 1, kTail, [&](double p) { return IncompleteBeta(x, n - x + 1, p); });
  if (x < n) bounds.high = Invert(0, 1, 1 - kTail, [&](double p) { return IncompleteBeta(x + 1, n - x, p); });
  return bounds;
}

double FisherExact(std::int64_t hits_a, std::int64_t total_a, std::int64_t hits_b, std::int64_t total_b) {
  const std::int64_t hits = hits_a + hits_b;
  const std::int64_t total = total_a + total_b;
  const auto log_p = [&](std::int64_t x) {
    return LogChoose(static_cast<double>(total_a), static_cast<double>(x)) +
           LogChoose(static_cast<double>(total_b), static_cast<double>(hits - x)) -
           LogChoose(static_cast<double>(total), static_cast<double>(hits));
  };
  const double observed = log_p(hits_a);
  double p = 0;
  const std::int64_t low = std::max<std::int64_t>(0, hits - total_b);
  const std::int64_t high = std::min(hits, total_a);
  for (std::int64_t x = low; x <= high; ++x) {
    const double one = log_p(x);
    if (one <= observed + 1e-7) p += std::exp(one);
  }
  return std::min(1.0, p);
}

std::optional<std::size_t> DixonOutlier(absl::Span<const double> values) {
  // Critical values at 90 %, n = 3 ... 7 (Dean and Dixon 1951, two-sided use).
  constexpr double kCritical[] = {0.941, 0.765, 0.642, 0.560, 0.507};
  if (values.size() < 3 || values.size() > 7) return std::nullopt;
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double range = values[order.back()] - values[order.front()];
  if (!(range > 0)) return std::nullopt;
  const double low_gap = values[order[1]] - values[order[0]];
  const double high_gap = values[order.back()] - values[order[order.size() - 2]];
  if (std::max(low_gap, high_gap) / range <= kCritical[values.size() - 3]) return std::nullopt;
  return low_gap > high_gap ? order.front() : order.back();
}

std::vector<double> Smooth(absl::Span<const double> values, int window) {
  const double weight = 2.0 / (std::max(window, 1) + 1);
  std::vector<double> result;
  result.reserve(values.size());
  for (double value : values)
    result.push_back(result.empty() ? value : result.back() + weight * (value - result.back()));
  return result;
}

std::optional<double> Correlation(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) return std::nullopt;
  const double mean_a = Mean(a);
  const double mean_b = Mean(b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  // A series that moves by rounding alone has no direction to compare.
  constexpr double kStill = 1e-24;
  if (aa <= kStill * (1 + mean_a * mean_a) || bb <= kStill * (1 + mean_b * mean_b)) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::optional<double> DifferenceCorrelation(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() != b.size() || a.size() < 3) return std::nullopt;
  std::vector<double> da;
  std::vector<double> db;
  for (std::size_t i = 1; i < a.size(); ++i) {
    da.push_back(a[i] - a[i - 1]);
    db.push_back(b[i] - b[i - 1]);
  }
  return Correlation(da, db);
}

std::optional<std::size_t> DeadZoneOnset(absl::Span<const double> differences, double dead_zone) {
  double sum = 0;
  std::size_t left_zero = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double next = std::max(0.0, sum + std::fabs(differences[i]) - dead_zone);
    if (sum == 0 && next > 0) left_zero = i;
    sum = next;
    if (sum > 5 * dead_zone) return left_zero;
  }
  return std::nullopt;
}

double LongRunVariance(absl::Span<const double> values, std::size_t blocks) {
  constexpr double kNegligible = 0.05;
  if (blocks == 0 || values.size() / blocks < 3) return 0;
  const std::size_t size = values.size() / blocks;
  std::vector<std::vector<double>> parts;
  double squares = 0;
  for (std::size_t j = 0; j < blocks; ++j) {
    const bool last = j + 1 == blocks;
    parts.push_back(Detrended(last ? values.subspan(j * size) : values.subspan(j * size, size)));
    for (double value : parts.back()) squares += value * value;
  }
  if (!(squares > 0)) return 0;
  const auto total = static_cast<double>(values.size());
  double factor = 1;  // 1 + 2 sum of autocorrelations
  for (std::size_t lag = 1; lag <= std::max<std::size_t>(1, size / 4); ++lag) {
    double products = 0;
    double pairs = 0;
    for (const std::vector<double>& part : parts) {
      for (std::size_t i = 0; i + lag < part.size(); ++i) products += part[i] * part[i + lag];
      pairs += static_cast<double>(part.size() - lag);
    }
    // Taking the line away makes neighbours look opposed by about 2 / size.
    const double correlation = products / pairs / (squares / total) + 2.0 / static_cast<double>(size);
    if (correlation <= kNegligible) break;
    factor += 2 * correlation;
  }
  return squares / (total - 2 * static_cast<double>(blocks)) * factor;
}

namespace {

// The last values in order, as a window moves over a curve: its median and the median of the distances from it without
// sorting each time. Equal to what Median gives of the same values.
class SortedWindow {
 public:
  explicit SortedWindow(absl::Span<const double> values) : sorted_(values.begin(), values.end()) {
    std::sort(sorted_.begin(), sorted_.end());
  }

  void Move(double leaves, double enters) {
    const auto out = std::lower_bound(sorted_.begin(), sorted_.end(), leaves);
    const auto in = std::lower_bound(sorted_.begin(), sorted_.end(), enters);
    if (in > out) {
      std::move(out + 1, in, out);
      *(in - 1) = enters;
    } else {
      std::move_backward(in, out, out + 1);
      *in = enters;
    }
  }

  double median() const { return Middle(sorted_[sorted_.size() / 2 - 1], sorted_[sorted_.size() / 2]); }

  // The distances grow from the median to both ends: the smaller of the two next ones, half of them.
  double MedianDistance(double median) const {
    std::size_t above =
        static_cast<std::size_t>(std::lower_bound(sorted_.begin(), sorted_.end(), median) - sorted_.begin());
    std::size_t below = above;
    double last = 0;
    double before_last = 0;
    for (std::size_t taken = 0; taken <= sorted_.size() / 2; ++taken) {
      before_last = last;
      const bool up = below == 0 || (above < sorted_.size() &&
                                     std::fabs(sorted_[above] - median) <= std::fabs(sorted_[below - 1] - median));
      last = std::fabs((up ? sorted_[above++] : sorted_[--below]) - median);
    }
    return Middle(before_last, last);
  }

 private:
  static double Middle(double lower, double upper) { return lower + (upper - lower) / 2; }

  std::vector<double> sorted_;  // an even number
};

}  // namespace

std::vector<std::size_t> Spikes(absl::Span<const double> values) {
  constexpr std::size_t kWindow = 50;
  constexpr std::size_t kBackWithin = 20;
  std::vector<std::size_t> spikes;
  if (values.size() <= kWindow) return spikes;
  SortedWindow window(values.subspan(0, kWindow));
  std::size_t end_of_window = kWindow;
  for (std::size_t i = kWindow; i < values.size(); ++i) {
    for (; end_of_window < i; ++end_of_window) window.Move(values[end_of_window - kWindow], values[end_of_window]);
    const double median = window.median();
    if (!(values[i] > median)) continue;
    const double limit = median + 8 * 1.4826 * window.MedianDistance(median);
    if (!(values[i] > limit)) continue;
    const std::size_t end = std::min(values.size(), i + 1 + kBackWithin);
    for (std::size_t j = i + 1; j < end; ++j) {
      if (values[j] > limit) continue;
      spikes.push_back(i);
      i = j;
      break;
    }
  }
  return spikes;
}

}  // namespace paritect
