#include "checks/series/running_mean.h"

#include <algorithm>
#include <cmath>

#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

constexpr std::size_t kStepsMin = 100;
constexpr int kWindows[] = {3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 100};

struct Fit {
  int window = 0;
  double correlation = -1;
};

absl::Span<const double> Rest(const std::vector<double>& values, std::size_t from) {
  return absl::MakeConstSpan(values).subspan(from);
}

Fit BestFit(const std::vector<double>& raw, const std::vector<double>& smooth) {
  Fit best;
  for (const int window : kWindows) {
    const std::size_t from = 2 * static_cast<std::size_t>(window);
    if (raw.size() < from + kStepsMin / 2) break;
    const double r = DifferenceCorrelation(Rest(Smooth(raw, window), from), Rest(smooth, from)).value_or(-1);
    if (r > best.correlation) best = {window, r};
  }
  return best;
}

}  // namespace

std::optional<RunningMean> FindRunningMean(const AlignedCurves& curves, const CurveLimits& limits) {
  if (curves.steps.size() < kStepsMin || curves.estimated) return std::nullopt;
  const double raw = DifferenceCorrelation(curves.a, curves.b).value_or(-1);
  const Fit of_b = BestFit(curves.a, curves.b);
  const Fit of_a = BestFit(curves.b, curves.a);
  const Fit& best = of_b.correlation >= of_a.correlation ? of_b : of_a;
  if (best.correlation < limits.running_mean_correlation || best.correlation < raw + limits.running_mean_gain) {
    return std::nullopt;
  }
  RunningMean found;
  found.of_b = &best == &of_b;
  found.window = best.window;
  const auto from = static_cast<std::ptrdiff_t>(2 * best.window);
  found.curves = curves;
  (found.of_b ? found.curves.a : found.curves.b) = Smooth(found.of_b ? curves.a : curves.b, best.window);
  found.curves.steps.erase(found.curves.steps.begin(), found.curves.steps.begin() + from);
  found.curves.a.erase(found.curves.a.begin(), found.curves.a.begin() + from);
  found.curves.b.erase(found.curves.b.begin(), found.curves.b.begin() + from);
  found.curves.rounding.erase(found.curves.rounding.begin(), found.curves.rounding.begin() + from);
  found.curves.at_b.erase(found.curves.at_b.begin(), found.curves.at_b.begin() + from);
  return found;
}

}  // namespace paritect
