#include "checks/weights/law.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "checks/weights/tensor_comparison.h"

namespace paritect {
namespace {

// Bins in ascending order of the values: those of negative numbers run backwards.
std::map<int, double> SharesOf(const v1::ValueHistogram& histogram) {
  constexpr int kNegative = 0x800;
  std::map<int, double> shares;
  double total = 0;
  for (const std::uint64_t count : histogram.counts()) total += static_cast<double>(count);
  for (int i = 0; i < histogram.bins_size(); ++i) {
    const int bin = static_cast<int>(histogram.bins(i));
    shares[bin >= kNegative ? kNegative - 1 - bin : bin] += static_cast<double>(histogram.counts(i)) / total;
  }
  return shares;
}

double DistanceOf(const v1::ValueHistogram& a, const v1::ValueHistogram& b) {
  std::map<int, double> difference = SharesOf(a);
  for (const auto& [bin, share] : SharesOf(b)) difference[bin] -= share;
  double sum = 0, largest = 0;
  for (const auto& [bin, share] : difference) {
    sum += share;
    largest = std::max(largest, std::fabs(sum));
  }
  return largest;
}

// Statistics and histogram of all parts.
v1::TensorFingerprint Merged(const std::vector<const ModelTensor*>& tensors) {
  v1::TensorFingerprint merged;
  v1::TensorStatistics& all = *merged.mutable_statistics();
  std::map<std::uint32_t, std::uint64_t> bins;
  for (const ModelTensor* tensor : tensors) {
    for (const v1::TensorFingerprint* part : tensor->parts) {
      const v1::TensorStatistics& one = part->statistics();
      all.set_min(all.has_min() ? std::min(all.min(), one.min()) : one.min());
      all.set_max(all.has_max() ? std::max(all.max(), one.max()) : one.max());
      all.set_sum(all.sum() + one.sum());
      all.set_sum_of_squares(all.sum_of_squares() + one.sum_of_squares());
      all.set_sum_of_fourths(all.sum_of_fourths() + one.sum_of_fourths());
      all.set_finite(all.finite() + one.finite());
      all.set_zero(all.zero() + one.zero());
      all.set_nan(all.nan() + one.nan());
      for (int i = 0; i < part->histogram().bins_size(); ++i) {
        bins[part->histogram().bins(i)] += part->histogram().counts(i);
      }
    }
  }
  for (const auto& [bin, count] : bins) {
    merged.mutable_histogram()->add_bins(bin);
    merged.mutable_histogram()->add_counts(count);
  }
  return merged;
}

// A value alone is equal to itself; what initialisers set and laws of chance do not give tells whether it was drawn.
bool IsSet(const v1::TensorFingerprint& tensor) {
  const v1::TensorStatistics& all = tensor.statistics();
  return IsConstant(tensor) && (all.finite() != 1 || all.min() == 0 || std::fabs(all.min()) == 1);
}

// A distance of distributions does not see single values. Draws of one law have extremes of one size.
bool HasOutlier(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b, double deviations, double of_extreme) {
  const auto extreme = [](const v1::TensorFingerprint& one) {
    return std::max(std::fabs(one.statistics().min()), std::fabs(one.statistics().max()));
  };
  return extreme(b) > of_extreme * extreme(a) && extreme(b) > std::fabs(MeanOf(a)) + deviations * DeviationOf(a);
}

// Fourth moment about 0 over the square of the second: 1.8 of a uniform law, 3 of a normal one. 0: nothing but zeros.
double KurtosisOf(const v1::TensorFingerprint& tensor) {
  const v1::TensorStatistics& all = tensor.statistics();
  const double squares = all.sum_of_squares();
  return squares > 0 ? all.sum_of_fourths() * static_cast<double>(all.finite()) / (squares * squares) : 0;
}

// Of few values a distance of distributions sees little: their moments see more. Limits are of chance, and of what is
// practically the same (docs/thresholds.md).
std::string MomentThatIsOff(const Profile& profile, const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  const double deviations = profile.threshold("initial_moment_errors"), same = profile.threshold("initial_moment_same");
  const double light_tails = profile.threshold("initial_kurtosis_light");
  const auto n = static_cast<double>(a.statistics().finite()), m = static_cast<double>(b.statistics().finite());
  if (std::min(n, m) < profile.threshold("initial_moment_values")) return "";
  const double chance = std::sqrt(1 / n + 1 / m);
  const double x = DeviationOf(a), y = DeviationOf(b), size = std::max(x, y);
  if (std::fabs(MeanOf(a) - MeanOf(b)) > size * std::max(deviations * chance, same)) return "mean";
  const double p = KurtosisOf(a), q = KurtosisOf(b);
  if (p == 0 || q == 0 || p > light_tails || q > light_tails) return "";  // heavy tails: chance is not known
  const double of_deviation = std::sqrt((std::max(p, q) - 1) / 4) * chance;
  if (std::fabs(x - y) > size * std::max(deviations * of_deviation, same)) return "standard deviation";
  const double kurtosis_same = profile.threshold("initial_kurtosis_same");
  if (std::fabs(p - q) > std::max(deviations * std::sqrt(24.0) * chance, kurtosis_same)) return "kurtosis";
  return "";
}

// Laws of chance give hardly any zero: rows of zeros on one side (padding, parts that were never drawn) are seen by
// their number alone, however small their share.
bool ZerosAreOff(const Profile& profile, const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  const auto n = static_cast<double>(a.statistics().finite()), m = static_cast<double>(b.statistics().finite());
  const auto x = static_cast<double>(a.statistics().zero()), y = static_cast<double>(b.statistics().zero());
  const double share = (x + y) / (n + m);
  const double chance = std::sqrt(share * (1 - share) * (1 / n + 1 / m));
  return std::fabs(x / n - y / m) >
         std::max(profile.threshold("initial_moment_errors") * chance, profile.threshold("initial_zeros_same"));
}

bool AllHaveHistograms(const std::vector<const ModelTensor*>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const ModelTensor* tensor) {
    return std::all_of(tensor->parts.begin(), tensor->parts.end(), [](const v1::TensorFingerprint* part) {
      return part->has_statistics() && part->has_histogram();
    });
  });
}

}  // namespace

std::optional<LawComparison> CompareLaws(const Profile& profile, const TensorPair& pair) {
  if (!AllHaveHistograms(pair.a) || !AllHaveHistograms(pair.b)) return std::nullopt;
  const v1::TensorFingerprint a = Merged(pair.a), b = Merged(pair.b);
  LawComparison result;
  if (IsSet(a) || IsSet(b)) {
    result.constants = true;
    result.same = IsSet(a) && IsSet(b) && a.statistics().min() == b.statistics().min();
    return result;
  }
  const auto n = static_cast<double>(a.statistics().finite()), m = static_cast<double>(b.statistics().finite());
  result.distance = DistanceOf(a.histogram(), b.histogram());
  result.limit = std::max(profile.threshold("initial_law_quantile") * std::sqrt((n + m) / (n * m)),
                          profile.threshold("initial_law_distance"));
  result.same = result.distance <= result.limit;
  if (result.same) {
    result.moment = ZerosAreOff(profile, a, b) ? "share of zeros" : MomentThatIsOff(profile, a, b);
    result.same = result.moment.empty();
  }
  const double deviations = profile.threshold("initial_law_outlier");
  const double of_extreme = std::max(profile.threshold("initial_law_extreme"),
                                     std::pow(profile.threshold("initial_extreme_chance"), -1 / std::min(n, m)));
  if (result.same && (HasOutlier(a, b, deviations, of_extreme) || HasOutlier(b, a, deviations, of_extreme))) {
    result.same = false;
    result.outlier = true;
  }
  return result;
}

}  // namespace paritect
