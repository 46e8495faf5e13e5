// training.flow.distributed, by settings and weights: one world trains, not each node alone. Several nodes with a
// local master address, a world that holds the devices of one node only, or NNODES=1 on several nodes fail.
// Whether gradients are really synchronised is seen in weights: without them the check does not pass.
// Source: pre-tuning checklist, 训练流程 ("各节点独立训练").
#include "checks/cluster/distributed.h"

#include "checks/observed/conduct.h"
#include "checks/scripts/faults.h"

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "checks/settings/world_size.h"
#include "checks/weights/synchronisation.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

bool IsLocal(absl::string_view address) {
  return address == "localhost" || address == "::1" || absl::StartsWith(address, "127.");
}

std::string Told(const SourcedValue& value) {
  return absl::StrCat(value.node, ": ", value.raw_key, "=", value.text, " (", value.origin, ")");
}

double NumberOf(const SourcedValue& value) {
  return value.value.kind_case() == v1::Value::kInteger ? static_cast<double>(value.value.integer())
                                                        : value.value.number();
}

// Sum over the nodes of the devices that each uses; 0 where a node does not say.
double DevicesOfAll(const SettingsView& view, const std::set<std::string>& nodes) {
  std::map<std::string, double> devices;
  for (const SourcedValue* one : view.All("devices_per_node")) devices[one->node] = NumberOf(*one);
  double sum = 0;
  for (const std::string& node : nodes) {
    if (!devices.contains(node)) return 0;
    sum += devices[node];
  }
  return sum;
}

// Two nodes of one run that take the same node rank: their processes take the same ranks, so that either the start-up
// hangs or each node is a world of its own.
void NodeRankTwice(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run) {
  std::map<std::string, std::map<std::string, std::string>> nodes_by_rank;  // rank -> node -> where
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED) continue;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        absl::string_view name = setting.raw_key();
        absl::ConsumePrefix(&name, "env.");
        // ${NODE_RANK:-0} of a script is what counts where nobody sets it.
        if (!BuiltInLaunchers().IsField(LauncherField::kNodeRank, name)) continue;
        if (setting.is_default() || setting.raw_value().empty()) continue;
        nodes_by_rank[setting.raw_value()].try_emplace(
            bundle->plan().node(), absl::StrCat(name, "=", setting.raw_value(), " (", setting.origin(), ")"));
      }
    }
  }
  for (const auto& [rank, nodes] : nodes_by_rank) {
    if (nodes.size() < 2) continue;
    std::vector<std::string> told;
    for (const auto& [node, where] : nodes) told.push_back(absl::StrCat(node, ": ", where));
    const std::string all = absl::StrJoin(told, ", ");
    v1::Finding& finding =
        AddError(context, result, "node_rank_twice", run.name, {{"run", run.name}, {"rank", rank}, {"nodes", all}});
    (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = all;
    for (const auto& [node, where] : nodes) finding.add_evidence(where);
  }
}

// One address may be written in two ways (a name, a number), so that a difference is a warning.
void MasterDiffers(const CheckContext& context, v1::CheckResult& result, Side side, const SettingsView& view) {
  std::set<std::string> addresses;
  std::vector<std::string> told;
  for (const SourcedValue* address : view.All("master_addr")) {
    if (IsLocal(ValueToText(address->value))) return;
    if (addresses.insert(ValueToText(address->value)).second) told.push_back(Told(*address));
  }
  if (addresses.size() < 2) return;
  v1::Finding& finding =
      AddWarning(context, result, "master_differs", view.run_name(), {{"addresses", absl::StrJoin(told, ", ")}});
  (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = absl::StrJoin(told, ", ");
}

// Collectives of NPUs go through HCCL (a script may still say nccl where calls are mapped); over gloo or MPI they go
// through the host, with another order of sums.
void JudgeBackend(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  const SettingsView& view = SettingsView::Of(context, Side::kMigrated, run);
  const EffectiveValue* backend = view.FindStated("distributed_backend");
  if (backend == nullptr || view.product().empty() || view.product() == "nvidia") return;
  const std::string word = view.Text("distributed_backend").value_or("");
  if (word.empty() || absl::StrContains(word, "hccl") || word == "nccl") return;
  AddWarning(context, result, "backend_not_mapped", run.name, {{"backend", ShowValue(backend->value)}})
      .add_evidence(backend->value.origin);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    if (!context.evidence.bundles(side).empty()) RequireSettings(context, result, side);
    AddScriptFaults(context, result, "training.flow.distributed", side);
    for (const RunView& run : context.evidence.Runs(side)) JudgeWorld(context, result, side, run);
  }
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) JudgeBackend(context, result, run);
  bool synchronised = true;
  for (Side side : kBothSides) {
    synchronised = synchronised && !context.evidence.Runs(side).empty();
    for (const RunView& run : context.evidence.Runs(side)) {
      const bool settled = JudgeObservedExchange(context, result, run);
      synchronised = (settled || JudgeSynchronisation(context, result, side, run)) && synchronised;
    }
  }
  if (!synchronised && !IsOneProcess(context, v1::EVIDENCE_KIND_WEIGHTS, result)) {
    AddMissing(context, result, "synchronisation_unknown", "");
  }
}

}  // namespace

void JudgeWorld(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run) {
  const std::set<std::string> nodes = run.Reporting();
  const SettingsView& view = SettingsView::Of(context, side, run);
  if (nodes.size() < 2) return;
  for (const SourcedValue* address : view.All("master_addr")) {
    if (!address->replaceable && IsLocal(ValueToText(address->value))) {
      AddError(context, result, "master_is_localhost", address->node, {{"evidence", Told(*address)}})
          .add_evidence(address->origin);
    }
  }
  MasterDiffers(context, result, side, view);
  NodeRankTwice(context, result, side, run);
  for (const SourcedValue* count : view.All("nodes")) {
    if (count->replaceable || NumberOf(*count) != 1) continue;
    AddError(context, result, "nodes_train_alone", count->node, {{"evidence", Told(*count)}})
        .add_evidence(count->origin);
  }
  std::set<double> worlds;
  const std::vector<SourcedValue> stated = StatedWorldSizes(view);
  for (const SourcedValue& world : stated) worlds.insert(NumberOf(world));
  const double devices = DevicesOfAll(view, nodes);
  const bool too_small = devices > 0 && worlds.size() == 1 && *worlds.begin() < devices;
  if (worlds.size() > 1 || too_small) {
    std::vector<std::string> told;
    for (const SourcedValue& world : stated) told.push_back(Told(world));
    v1::Finding& finding = AddError(context, result, "world_size_mismatch/settings", run.name,
                                    {{"worlds", absl::StrJoin(told, ", ")}, {"nodes", absl::StrCat(nodes.size())}});
    SetFact(finding, "world_size", *worlds.begin());
    if (devices > 0) SetFact(finding, "devices", devices);
  }
}

extern const Check kFlowDistributed;
const Check kFlowDistributed = {"training.flow.distributed", {}, &Evaluate};

}  // namespace paritect
