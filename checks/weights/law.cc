#include "checks/weights/law.h"

#include <algorithm>
#include <cmath>
#include <map>

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

}  // namespace

bool IsConstant(const v1::TensorFingerprint& tensor) {
  return tensor.statistics().min() == tensor.statistics().max() && tensor.statistics().nan() == 0;
}

std::optional<LawComparison> CompareLaws(const Profile& profile, const v1::TensorFingerprint& a,
                                         const v1::TensorFingerprint& b) {
  if (!a.has_statistics() || !b.has_statistics()) return std::nullopt;
  LawComparison result;
  if (IsConstant(a) || IsConstant(b)) {
    result.constants = true;
    result.same = IsConstant(a) && IsConstant(b) && a.statistics().min() == b.statistics().min();
    return result;
  }
  if (!a.has_histogram() || !b.has_histogram()) return std::nullopt;
  const auto n = static_cast<double>(a.statistics().finite()), m = static_cast<double>(b.statistics().finite());
  result.distance = DistanceOf(a.histogram(), b.histogram());
  result.limit = std::max(profile.threshold("initial_law_quantile") * std::sqrt((n + m) / (n * m)),
                          profile.threshold("initial_law_distance"));
  result.same = result.distance <= result.limit;
  return result;
}

}  // namespace paritect
