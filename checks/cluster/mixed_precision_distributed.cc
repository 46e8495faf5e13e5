// migrated.mixed-precision.distributed: one world of several devices really trained. What launches the run says what
// was asked for; that it came about is told by the run itself (the arguments that its log prints after start-up).
// Source: pre-tuning checklist, 在NPU上正确使能混合精度 (正确使能分布式训练).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/cluster/distributed.h"
#include "checks/settings/compare.h"
#include "checks/settings/world_size.h"
#include "common/numbers.h"

namespace paritect {
namespace {

void JudgeRun(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  const SettingsView& view = SettingsView::Of(context, Side::kMigrated, run);
  if (view.empty()) return;
  JudgeWorld(context, result, Side::kMigrated, run);
  const EffectiveValue* world = view.FindStated("world_size");
  const std::optional<double> size = view.Number("world_size");
  const std::optional<double> nodes = view.Number("nodes");
  const std::optional<double> local = view.Number("devices_per_node");
  if (world == nullptr || !size) {
    // One process on one node asks for no world.
    if (nodes == 1 && local == 1) {
      AddNote(context, result, "not_applicable", run.name, {{"why", "1 x 1 process"}});
    } else if (const int told = WorldSizesOf(context, Side::kMigrated, run).largest(); told > 1) {
      AddMissing(context, result, "world_not_shown", run.name, {{"size", absl::StrCat(told)}});
    } else {
      AddMissing(context, result, "world_size_unknown", run.name, {{"run", run.name}});
    }
    return;
  }
  if (*size <= 1 && run.Reporting().size() <= 1 && local.value_or(1) <= 1) {
    AddNote(context, result, "not_applicable", run.name, {{"why", absl::StrCat("world size ", FormatDouble(*size))}})
        .add_evidence(world->value.origin);
  } else if (*size <= 1) {
    v1::Finding& finding =
        AddError(context, result, "nodes_train_alone/world", run.name, {{"evidence", ShowValue(world->value)}});
    SetFact(finding, "world_size", *size);
    finding.add_evidence(world->value.origin);
  } else if (world->value.source == SettingSource::kLog) {
    v1::Finding& note = AddNote(context, result, "measured/world", run.name,
                                {{"size", FormatDouble(*size)}, {"evidence", world->value.origin}});
    SetFact(note, "world_size", *size);
  } else {
    AddMissing(context, result, "world_not_shown", run.name, {{"size", FormatDouble(*size)}});
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  RequireSettings(context, result, Side::kMigrated);
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) JudgeRun(context, result, run);
}

}  // namespace

extern const Check kMixedPrecisionDistributed;
const Check kMixedPrecisionDistributed = {"migrated.mixed-precision.distributed", {}, &Evaluate};

}  // namespace paritect
