// migrated.loss-scale.optimizer: is the NPU loss-scale optimizer used where the product needs it, with is_distributed
// as the world size says? Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale (按需替换
// LossScaleOptimizer).
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/scaler.h"
#include "checks/settings/compare.h"
#include "checks/settings/platform.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

// The world size by plan, setting or rank count; 0 where none says it.
std::int64_t WorldSize(const RunView& view, const SettingsView& settings) {
  std::int64_t size = static_cast<std::int64_t>(settings.Number("world_size").value_or(0));
  for (const v1::Bundle* bundle : view.nodes) size = std::max<std::int64_t>(size, bundle->plan().world_size());
  return size;
}

bool UsesNpuOptimizer(const SettingsView& settings) {
  return settings.Text("loss_scale_optimizer") == "npu" ||
         (settings.framework() == "tensorflow" && settings.FindStated("loss_scale_distributed") != nullptr);
}

void CheckDistributed(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const RunView& view,
                      const SettingsView& settings, const Platform& platform) {
  const std::optional<bool> distributed = settings.Boolean("loss_scale_distributed");
  std::string origin;
  // Where the call leaves it out, its reader states the signature's False.
  if (distributed.has_value()) origin = settings.Find("loss_scale_distributed")->value.origin;
  const std::int64_t world_size = WorldSize(view, settings);
  if (!distributed.has_value() || world_size == 0 || platform.family == nullptr) {
    AddMissing(context, result, "loss_scale_optimizer_unknown", run.name,
               {{"run", run.name}, {"product", platform.family != nullptr ? platform.family->name : ""}});
    return;
  }
  const bool wrong = *distributed != (world_size > 1);
  const MessageArgs args = {{"stated", *distributed ? "True" : "False"}, {"world_size", absl::StrCat(world_size)}};
  v1::Finding& finding = wrong ? AddError(context, result, "is_distributed_mismatch", run.name, args)
                               : AddNote(context, result, "measured/is_distributed", run.name, args);
  SetFact(finding, "is_distributed", *distributed);
  SetFact(finding, "world_size", world_size);
  finding.add_evidence(origin);
}

void CheckRun(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const RunView& view) {
  const Platform platform = PlatformOf(context.rules, view);
  const SettingsView& settings = SettingsView::Of(context, Side::kMigrated, view);
  const MessageArgs who = {{"run", run.name}, {"product", platform.family != nullptr ? platform.family->name : ""}};
  const std::string& framework = settings.framework();
  if (settings.Boolean("overflow_check") == false) {
    AddWarning(context, result, "overflow_check_off", run.name, who)
        .add_evidence(settings.Find("overflow_check")->value.origin);
  }
  // Only TensorFlow on the Atlas training series has an optimizer of its own for this. Where it is used all the same,
  // its is_distributed still decides whether the ranks agree on an overflow (TF Adapter, NPULossScaleOptimizer).
  const bool needless = (platform.family != nullptr && platform.family->id != "atlas-training") ||
                        (!framework.empty() && framework != "tensorflow");
  const bool other_framework = framework == "pytorch" || framework == "mindspore";
  if (needless && (other_framework || !UsesNpuOptimizer(settings))) {
    if (!other_framework && ReportUnreadScripts(context, result, settings, "NPULossScaleOptimizer, is_distributed"))
      return;
    AddNote(context, result, "not_applicable/loss_scale_optimizer", run.name, who);
    return;
  }
  if (const EffectiveValue* own = settings.FindStated("loss_scale_optimizer");
      own != nullptr && !needless && platform.family != nullptr && settings.Text("loss_scale_optimizer") != "npu") {
    AddError(context, result, "native_loss_scale_optimizer/settings", run.name,
             {{"value", ShowValue(own->value)}, {"product", platform.family->name}})
        .add_evidence(own->value.origin);
  }
  CheckDistributed(context, result, run, view, settings, platform);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kMigrated);
  if (runs.empty()) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
  const std::vector<RunView> views = context.evidence.Runs(Side::kMigrated);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!NoScalerNeeded(context, result, runs[i], ScalerOf(context, runs[i])))
      CheckRun(context, result, runs[i], views[i]);
  }
}

}  // namespace

extern const Check kLossScaleOptimizer;
const Check kLossScaleOptimizer = {"migrated.loss-scale.optimizer", {}, &Evaluate};

}  // namespace paritect
