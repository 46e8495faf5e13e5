// baseline.repeatability.target: where a published reference accuracy is given, do the finished runs reach it?
// Source: pre-tuning checklist, 多次训练验证精度一致.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/repeats.h"
#include "checks/statistics.h"

namespace paritect {
namespace {

struct Target {
  double points = 0;  // a value of at most 1 is a fraction
  double stated = 0;
  std::string origin;
};

std::optional<Target> StatedTarget(const EvidenceSet& evidence) {
  for (const v1::Bundle& bundle : evidence.bundles(Side::kBaseline)) {
    auto it = bundle.plan().facts().find("reference_accuracy");
    if (it == bundle.plan().facts().end()) continue;
    const v1::Value& value = it->second;
    Target target;
    if (value.kind_case() == v1::Value::kNumber) {
      target.stated = value.number();
    } else if (value.kind_case() == v1::Value::kInteger) {
      target.stated = static_cast<double>(value.integer());
    } else {
      continue;
    }
    target.points = target.stated <= 1 ? target.stated * 100 : target.stated;
    auto origin = bundle.plan().fact_origins().find("reference_accuracy");
    if (origin != bundle.plan().fact_origins().end()) target.origin = origin->second;
    return target;
  }
  return std::nullopt;
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::optional<Target> target = StatedTarget(context.evidence);
  if (!target.has_value()) {
    AddMissing(context, result, "no_reference_accuracy", SideName(Side::kBaseline));
    return;
  }
  if (!RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_RUN_LOG)) return;
  const std::vector<RunSeries> runs = SeriesOf(context.evidence, Side::kBaseline);
  const FinishedRuns finished = Finished(context.profile, runs);
  std::vector<double> points;
  std::vector<std::string> where;
  for (const RunSeries* run : finished.finished) {
    const std::optional<FinalMetric> metric = run->Final();
    if (!metric.has_value() || !metric->is_accuracy) {
      AddMissing(context, result, "metric_not_printed", run->name, {{"run", run->name}, {"metric", "accuracy"}});
      continue;
    }
    points.push_back(metric->value);
    where.push_back(metric->where);
  }
  if (points.empty()) {
    if (finished.finished.empty()) AddMissing(context, result, "no_finished_run", SideName(Side::kBaseline));
    return;
  }
  const double mean = Mean(points);
  const double margin = context.profile.threshold("accuracy_points");
  const bool reached = mean >= target->points - margin * (1 + 1e-9);
  const MessageArgs args = {{"mean", Short(mean)},
                            {"target", Short(target->points)},
                            {"margin", Short(margin)},
                            {"values", JoinNumbers(points)}};
  v1::Finding& finding = reached ? AddNote(context, result, "measured/target", "", args)
                                 : AddError(context, result, "target_missed", "", args);
  finding.set_baseline(Short(mean));
  SetFact(finding, "reference_accuracy", target->stated);
  SetFact(finding, "mean", mean);
  SetFact(finding, "values", absl::MakeConstSpan(points));
  if (!target->origin.empty()) finding.add_evidence(target->origin);
  for (const std::string& one : where) finding.add_evidence(one);
}

}  // namespace

extern const Check kRepeatabilityTarget;
const Check kRepeatabilityTarget = {"baseline.repeatability.target", {}, &Evaluate};

}  // namespace paritect
