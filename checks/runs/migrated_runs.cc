// migrated.mixed-precision.runs: is there a finished migrated run, on NPUs by device evidence?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能混合精度.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/observed/observed_run.h"
#include "checks/series/repeats.h"
#include "checks/settings/platform.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

// What a plan states of its platform is no evidence of the device that trained.
bool StatedOnly(const Platform& platform) {
  return absl::StrContains(platform.evidence, ": platform: ");
}

// What a node said of itself when it was read live ("no GPU and no NPU").
void AddLiveMissing(const CheckContext& context, v1::CheckResult& result, const RunView& view) {
  for (const v1::Bundle* bundle : view.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.problem().id() != "live_no_accelerator") continue;
      AddMissing(context, result, evidence.problem(), WhereFrom(*bundle, evidence));
    }
  }
}

// Where the parameters lay in the first forward, as it was observed: on an NPU, or on a processor or GPU without one in
// sight, which is a silent fall-back. Parameters that an engine keeps in host memory say nothing.
enum class ObservedDevice { kUnknown, kNpu, kOther };

ObservedDevice DeviceOf(const ObservedRun& run, std::string& evidence) {
  for (const ObservedRank& rank : run.ranks()) {
    const ObservedFact* device = rank.Find("flag.device");
    if (device == nullptr) continue;
    evidence = absl::StrCat("device ", device->value, " (", device->origin, ")");
    if (absl::StartsWith(device->value, "npu")) return ObservedDevice::kNpu;
    const ObservedFact* there = rank.Find("flag.npu_available");
    if (there != nullptr && there->value == "false") return ObservedDevice::kOther;
  }
  return ObservedDevice::kUnknown;
}

// The baseline's NPU, where it ran on one: sides named the wrong way round, which no back end mends.
const ProductFamily* NpuOfBaseline(const CheckContext& context) {
  const std::vector<RunView> runs = context.evidence.Runs(Side::kBaseline);
  const ProductFamily* family = runs.empty() ? nullptr : PlatformOf(context.rules, runs[0]).family;
  return family != nullptr && family->npu ? family : nullptr;
}

void CheckDevices(const CheckContext& context, v1::CheckResult& result, const RunView& view) {
  std::string seen;
  const ObservedDevice device = DeviceOf(ObservedRun::Of(context, view), seen);
  if (device == ObservedDevice::kOther) {
    AddError(context, result, "not_on_npu/observed", view.name, {{"run", view.name}, {"evidence", seen}})
        .add_evidence(seen);
    return;
  }
  Platform platform = PlatformOf(context.rules, view);
  if (device == ObservedDevice::kNpu && platform.family != nullptr && platform.family->npu) platform.evidence = seen;
  if (platform.family == nullptr || StatedOnly(platform)) {
    AddMissing(context, result, "device_not_proved", view.name, {{"run", view.name}});
    AddLiveMissing(context, result, view);
    return;
  }
  const ProductFamily* swapped = platform.family->npu ? nullptr : NpuOfBaseline(context);
  const MessageArgs args = {{"run", view.name},
                            {"product", platform.family->name},
                            {"evidence", platform.evidence},
                            {"baseline", swapped == nullptr ? "" : swapped->name}};
  v1::Finding& finding = swapped != nullptr         ? AddError(context, result, "not_on_npu/swapped", view.name, args)
                         : !platform.family->npu    ? AddError(context, result, "not_on_npu", view.name, args)
                         : !platform.family->trains ? AddError(context, result, "not_on_npu/inference", view.name, args)
                                                    : AddNote(context, result, "measured/device", view.name, args);
  finding.set_migrated(platform.family->name);
  finding.add_evidence(platform.evidence);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kMigrated);
  if (runs.empty()) return;
  const FinishedRuns finished = Finished(context.profile, runs);
  for (const FinishedRuns::Left& left : finished.others) {
    if (finished.finished.empty()) {
      AddMissing(context, result, left.message_id, left.run->name, left.args);
    } else {
      AddNote(context, result, left.message_id, left.run->name, left.args);
    }
  }
  // One run alone has no other to be measured by: only its own end mark says that it is whole.
  if (finished.by_length && runs.size() == 1) {
    AddMissing(context, result, "end_not_marked", runs[0].name, {{"run", runs[0].name}});
  }
  for (const RunView& view : context.evidence.Runs(Side::kMigrated)) CheckDevices(context, result, view);
  v1::Finding& note = AddNote(context, result, "measured/runs", "",
                              {{"runs", absl::StrCat(runs.size())},
                               {"finished", absl::StrCat(finished.finished.size())},
                               {"names", JoinNames(finished.finished)}});
  SetFact(note, "runs", static_cast<std::int64_t>(runs.size()));
  SetFact(note, "finished", static_cast<std::int64_t>(finished.finished.size()));
}

}  // namespace

extern const Check kMigratedRuns;
const Check kMigratedRuns = {"migrated.mixed-precision.runs", kNeeds, &Evaluate};

}  // namespace paritect
