#include "checks/series/validation_metrics.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/repeats.h"
#include "checks/series/run_series.h"

namespace paritect {
namespace {

struct Last {
  std::int64_t step = 0;
  double value = 0;
  std::string where;
};

std::optional<Last> LastOf(const RunSeries& run, const std::string& name) {
  const CurveSet set = CurvesOfMetric(run, name);
  if (set.curves.size() != 1 || set.curves[0].points.empty()) return std::nullopt;
  const CurvePoint& last = set.curves[0].points.back();
  return Last{last.step, last.value, last.where};
}

// What the reference value may be missed by: the profile's margin, or what the baseline's own runs vary by.
double MarginOf(const CheckContext& context, const MetricSense& sense, double reference,
                const std::vector<double>& all) {
  double margin = context.profile.threshold("metric_relative_error") * std::fabs(reference);
  if (sense.points) {
    margin = context.profile.threshold("accuracy_points") * (std::fabs(reference) <= 1 ? 0.01 : 1);
  }
  constexpr std::size_t kRunsMin = 3;
  if (all.size() < kRunsMin) return margin;
  return std::max(margin, PredictionHalfWidth(StandardDeviation(all), static_cast<int>(all.size()), 1).value_or(0));
}

std::vector<std::string> CommonMetrics(const RunSeries& a, const RunSeries& b) {
  const std::vector<std::string> of_a = PrintedMetrics(a);
  const std::vector<std::string> of_b = PrintedMetrics(b);
  std::vector<std::string> common;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
  std::erase_if(common, [](const std::string& name) { return FindMetric(name).has_value() || !SenseOf(name); });
  return common;
}

}  // namespace

MetricsCompared CompareValidationMetrics(const CheckContext& context, v1::CheckResult& result,
                                         const std::vector<const RunSeries*>& baseline,
                                         const std::vector<const RunSeries*>& migrated, absl::string_view message_id) {
  MetricsCompared counts;
  for (const RunSeries* run : migrated) {
    for (const std::string& name : CommonMetrics(*baseline.front(), *run)) {
      const std::optional<Last> a = LastOf(*baseline.front(), name);
      const std::optional<Last> b = LastOf(*run, name);
      if (!a.has_value() || !b.has_value() || !std::isfinite(a->value)) continue;
      // A run that is under way, or broke off, has not come to the baseline's last evaluation.
      if (run->ending.state != v1::RunEnd::STATE_FINISHED && b->step * 10 < a->step * 9) {
        AddMissing(
            context, result, "final_not_reached", run->name,
            {{"run", run->name}, {"metric", name}, {"step", absl::StrCat(b->step)}, {"last", absl::StrCat(a->step)}});
        continue;
      }
      std::vector<double> all;
      for (const RunSeries* repeat : baseline) {
        const std::optional<Last> one = LastOf(*repeat, name);
        if (one.has_value() && std::isfinite(one->value)) all.push_back(one->value);
      }
      ++counts.compared;
      const MetricSense sense = *SenseOf(name);
      const double margin = MarginOf(context, sense, a->value, all);
      const double worse = sense.higher_is_better ? a->value - b->value : b->value - a->value;
      if (worse <= margin * (1 + 1e-9)) {  // NaN is worse
        ++counts.within;
        continue;
      }
      v1::Finding& finding =
          AddFinding(context, result, sense.is_loss ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, message_id, run->name,
                     {{"metric", name},
                      {"baseline", Short(a->value)},
                      {"migrated", Short(b->value)},
                      {"worse", Short(worse)},
                      {"margin", Short(margin)}});
      finding.set_baseline(Short(a->value));
      finding.set_migrated(Short(b->value));
      SetFact(finding, "metric", name);
      SetFact(finding, "baseline", a->value);
      SetFact(finding, "migrated", b->value);
      SetFact(finding, "margin", margin);
      finding.add_evidence(a->where);
      finding.add_evidence(b->where);
    }
  }
  return counts;
}

}  // namespace paritect
