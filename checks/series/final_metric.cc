// What a run's evaluations came to.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "checks/series/run_series.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

// Preferences: accuracy, other measures of quality, then what only tells how well the model predicts.
constexpr int kOtherQuality = 10;
constexpr int kEvalLoss = 50;
constexpr int kRankOfPerplexity = 8;

bool Fill(const CurveSet& set, FinalMetric& metric) {
  if (set.curves.size() != 1) return false;
  if (set.curves[0].points.empty()) return false;
  double largest = 0;
  bool any_in_points = false;
  const CurvePoint* last = &set.curves[0].points.back();
  for (const CurvePoint& point : set.curves[0].points) {
    if (!std::isfinite(point.value)) continue;
    any_in_points = any_in_points || point.in_points;
    if (!point.in_points) largest = std::max(largest, point.value);
  }
  const bool fraction = metric.is_share && largest <= 1 && !last->in_points;
  metric.printed = last->value;
  metric.value = fraction ? last->value * 100 : last->value;
  // A run that prints both forms is told in points.
  if (fraction && any_in_points) metric.printed = metric.value;
  metric.finite = std::isfinite(last->value);
  metric.where = last->where;
  if (!set.by_order) metric.step = last->step;
  return true;
}

// Metrics of the run's own that measure a model, by their common name; of several spellings the first in byte order.
std::map<std::string, std::string> OwnMetrics(const RunSeries& run) {
  std::set<std::string> names;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      for (const auto& [name, value] : record.metrics()) names.insert(name);
    }
  }
  std::map<std::string, std::string> own;
  for (const std::string& name : names) {
    if (const EvaluationMetric* metric = FindEvaluationMetric(name)) own.emplace(metric->name, name);
  }
  return own;
}

}  // namespace

std::vector<FinalMetric> RunSeries::Finals() const {
  std::vector<FinalMetric> finals;
  FinalMetric accuracy;
  accuracy.name = "accuracy";
  accuracy.is_accuracy = accuracy.is_share = accuracy.higher_is_better = accuracy.of_quality = true;
  if (Fill(Curves(Metric::kAccuracy), accuracy)) finals.push_back(accuracy);
  for (const auto& [common, printed] : OwnMetrics(*this)) {
    const EvaluationMetric& known = *FindEvaluationMetric(printed);
    FinalMetric metric;
    metric.name = common;
    metric.is_share = known.sense.points;
    metric.higher_is_better = known.sense.higher_is_better;
    metric.of_quality = known.rank < kRankOfPerplexity;
    metric.preference = (metric.of_quality ? kOtherQuality : kEvalLoss) + known.rank;
    if (Fill(CurvesOfMetric(*this, printed), metric)) finals.push_back(metric);
  }
  FinalMetric loss;
  loss.name = "eval_loss";
  loss.preference = kEvalLoss;
  if (Fill(Curves(Metric::kEvalLoss), loss)) finals.push_back(loss);
  // A validation loss after it: its evaluation is not the last one.
  for (FinalMetric& metric : finals) {
    if (metric.step && loss.step && *loss.step > *metric.step) metric.later = loss.step;
  }
  std::stable_sort(finals.begin(), finals.end(),
                   [](const FinalMetric& a, const FinalMetric& b) { return a.preference < b.preference; });
  return finals;
}

std::optional<FinalMetric> RunSeries::Final() const {
  const std::vector<FinalMetric> finals = Finals();
  return finals.empty() ? std::nullopt : std::optional<FinalMetric>(finals.front());
}

}  // namespace paritect
