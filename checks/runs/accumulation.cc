#include "checks/runs/accumulation.h"

#include <cmath>
#include <optional>

#include "checks/series/observed_logs.h"
#include "checks/series/repeats.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

struct FirstLoss {
  double value = 0;
  std::string where;
};

std::optional<FirstLoss> FirstLossOf(const RunSeries& run) {
  for (const LogSource& source : ObservedLogs(run.view)) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (record.step() != 1 || !record.has_loss() || !(record.loss() > 0) || !std::isfinite(record.loss())) continue;
      return FirstLoss{record.loss(), Where(source, record.line())};
    }
  }
  return std::nullopt;
}

double MicroBatches(const CheckContext& context, Side side, const RunSeries& run) {
  return SettingsView::Of(context, side, run.view).Number("gradient_accumulation_steps").value_or(1);
}

}  // namespace

void JudgeDivision(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                   const RunSeries& migrated) {
  const std::optional<FirstLoss> a = FirstLossOf(baseline), b = FirstLossOf(migrated);
  if (!a.has_value() || !b.has_value()) return;
  const bool of_migrated = b->value > a->value;
  const double ratio = of_migrated ? b->value / a->value : a->value / b->value;
  const double parts =
      of_migrated ? MicroBatches(context, Side::kMigrated, migrated) : MicroBatches(context, Side::kBaseline, baseline);
  if (parts < 2 || std::fabs(ratio / parts - 1) > context.profile.threshold("first_loss_ratio")) return;
  v1::Finding& finding =
      AddError(context, result, of_migrated ? "accumulation_not_divided" : "accumulation_not_divided/baseline",
               migrated.name, {{"migrated", migrated.name}, {"baseline", baseline.name}, {"ratio", Short(ratio)}});
  finding.set_baseline(Short(a->value));
  finding.set_migrated(Short(b->value));
  SetFact(finding, "ratio", b->value / a->value);
  SetFact(finding, "micro_batches", parts);
  finding.add_evidence(a->where);
  finding.add_evidence(b->where);
}

}  // namespace paritect
