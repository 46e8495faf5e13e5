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

// The world as the run counts it: transformers' Trainer prints the batch of one device, the accumulation and the batch
// of all processes. Empty where it does not print them, or they make another number of processes than `asked`. (On a
// GPU several devices of one process count there, too; an NPU's process has one.) Source: transformers
// src/transformers/trainer.py `_inner_training_loop` ("***** Running training *****"), training_args.py
// `_setup_devices`.
std::string PrintedWorld(const SettingsView& view, double asked) {
  const auto printed = [&view](absl::string_view key, absl::string_view raw_key) -> const SourcedValue* {
    for (const SourcedValue* one : view.All(key)) {
      if (one->source == SettingSource::kLog && one->raw_key == raw_key) return one;
    }
    return nullptr;
  };
  const SourcedValue* const all = printed("global_batch_size", "banner.total_train_batch_size");
  const SourcedValue* const device = printed("micro_batch_size", "banner.per_device_batch_size");
  const SourcedValue* const rounds = printed("gradient_accumulation_steps", "banner.gradient_accumulation_steps");
  if (all == nullptr || device == nullptr || rounds == nullptr) return "";
  const auto number = [](const SourcedValue& one) { return ParseDouble(one.text).value_or(0); };
  const double of_one = number(*device) * number(*rounds);
  if (!(of_one > 0) || number(*all) != of_one * asked) return "";
  return absl::StrCat(all->text, " = ", device->text, " x ", rounds->text, " x ", FormatDouble(asked), " (",
                      all->origin, ")");
}

// What the run tells of a world that was asked for.
void JudgePrinted(const CheckContext& context, v1::CheckResult& result, const SettingsView& view, double asked) {
  const std::string world = PrintedWorld(view, asked);
  if (world.empty()) {
    AddMissing(context, result, "world_not_shown", view.run_name(), {{"size", FormatDouble(asked)}});
    return;
  }
  v1::Finding& note =
      AddNote(context, result, "measured/world", view.run_name(), {{"size", FormatDouble(asked)}, {"evidence", world}});
  SetFact(note, "world_size", asked);
}

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
      JudgePrinted(context, result, view, told);
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
    JudgePrinted(context, result, view, *size);
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
