// baseline.repeatability.target: where a published reference accuracy is given, do the finished runs reach it?
// Source: pre-tuning checklist, 多次训练验证精度一致.
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "checks/check.h"
#include "checks/numbers/statistics.h"
#include "checks/series/repeats.h"
#include "common/numbers.h"

namespace paritect {
namespace {

struct Target {
  double points = 0;  // a value of at most 1 is a fraction
  double stated = 0;
  std::string origin;
};

// "76.1%" is in points whatever its size.
std::optional<Target> ReadTarget(const v1::Value& value) {
  Target target;
  bool percent = false;
  if (value.kind_case() == v1::Value::kText) {
    absl::string_view text = absl::StripAsciiWhitespace(value.text());
    percent = absl::ConsumeSuffix(&text, "%");
    const std::optional<double> number = ParseDouble(absl::StripAsciiWhitespace(text));
    if (!number.has_value()) return std::nullopt;
    target.stated = *number;
  } else if (value.kind_case() == v1::Value::kNumber) {
    target.stated = value.number();
  } else if (value.kind_case() == v1::Value::kInteger) {
    target.stated = static_cast<double>(value.integer());
  } else {
    return std::nullopt;
  }
  target.points = target.stated <= 1 && !percent ? target.stated * 100 : target.stated;
  return std::isfinite(target.points) && target.points >= 0 ? std::optional(target) : std::nullopt;
}

// The published accuracy that the baseline's plans state, the first of them; others that differ are a conflict. What is
// stated and cannot be read is reported.
std::optional<Target> StatedTarget(const CheckContext& context, v1::CheckResult& result) {
  std::optional<Target> first;
  for (const v1::Bundle& bundle : context.evidence.bundles(Side::kBaseline)) {
    auto it = bundle.plan().facts().find("reference_accuracy");
    if (it == bundle.plan().facts().end()) continue;
    std::optional<Target> target = ReadTarget(it->second);
    const auto origin = bundle.plan().fact_origins().find("reference_accuracy");
    const std::string where = origin != bundle.plan().fact_origins().end() ? origin->second : bundle.plan().plan_file();
    if (!target.has_value()) {
      AddMissing(context, result, "setting_is_no_number", bundle.plan().run(),
                 {{"key", "reference_accuracy"}, {"value", ValueToText(it->second)}, {"run", bundle.plan().run()}});
      continue;
    }
    target->origin = where;
    if (!first.has_value()) {
      first = std::move(target);
      continue;
    }
    if (std::fabs(target->points - first->points) <= 1e-9 * first->points) continue;
    const std::string values = absl::StrCat(Short(first->points), "; ", Short(target->points));
    v1::Finding& finding = AddError(context, result, "conflict_within_side", "reference_accuracy",
                                    {{"key", "reference_accuracy"}, {"values", values}});
    finding.add_evidence(first->origin);
    finding.add_evidence(target->origin);
  }
  return first;
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::optional<Target> target = StatedTarget(context, result);
  if (!target.has_value()) {
    if (result.missing().empty()) AddMissing(context, result, "no_reference_accuracy", SideName(Side::kBaseline));
    return;
  }
  if (!RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_RUN_LOG)) return;
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
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
