#include "checks/series/validation_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/run_series.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

// "val/mAP50-95(B)" -> val, map, b; digits at the end of a word belong to its variant.
std::vector<std::string> WordsOf(absl::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto take = [&] {
    while (!word.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word.back()))) word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      word.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else {
      take();
    }
  }
  take();
  return words;
}

const std::map<std::string, MetricSense>& Senses() {
  constexpr MetricSense kShare = {true, true, false};
  constexpr MetricSense kErrorShare = {false, true, false};
  constexpr MetricSense kHigher = {true, false, false};
  constexpr MetricSense kLower = {false, false, false};
  constexpr MetricSense kLoss = {false, false, true};
  static const auto* const senses = new std::map<std::string, MetricSense>{
      {"acc", kShare},       {"accuracy", kShare},   {"f1", kShare},         {"f", kShare},     {"auc", kShare},
      {"map", kShare},       {"ap", kShare},         {"miou", kShare},       {"iou", kShare},   {"dice", kShare},
      {"precision", kShare}, {"recall", kShare},     {"bleu", kShare},       {"rouge", kShare}, {"rougel", kShare},
      {"rougelsum", kShare}, {"top", kShare},        {"em", kShare},         {"mcc", kShare},   {"wer", kErrorShare},
      {"cer", kErrorShare},  {"err", kErrorShare},   {"error", kErrorShare}, {"psnr", kHigher}, {"ssim", kHigher},
      {"ppl", kLower},       {"perplexity", kLower}, {"mae", kLower},        {"rmse", kLower},  {"mse", kLower},
      {"fid", kLower},       {"loss", kLoss}};
  return *senses;
}

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

std::optional<MetricSense> SenseOf(absl::string_view name) {
  static const auto* const kEvaluation =
      new std::set<std::string>{"eval", "val", "valid", "validation", "test", "metrics", "coco", "bbox", "segm"};
  // Of a loss these name its part, not who measured it.
  static const auto* const kParts = new std::set<std::string>{"bbox", "segm", "metrics"};
  bool evaluation = false;
  bool evaluated_loss = false;
  std::optional<MetricSense> sense;
  for (const std::string& word : WordsOf(name)) {
    if (word == "train") return std::nullopt;
    evaluation = evaluation || kEvaluation->contains(word);
    evaluated_loss = evaluated_loss || (kEvaluation->contains(word) && !kParts->contains(word));
    const auto found = Senses().find(word);
    if (found != Senses().end()) sense = found->second;
  }
  if (sense.has_value() && sense->is_loss) evaluation = evaluated_loss;
  return evaluation ? sense : std::nullopt;
}

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
