#include "client/report/offline_audit.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/datasets/follow_up.h"
#include "checks/datasets/follow_up.h"
#include "checks/datasets/pairs.h"
#include "client/localise.h"
#include "client/plan/told_input.h"
#include "common/in_order.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

using Pieces = std::vector<v1::Evidence>;

// What `live: true` did not see is told at once: few checks ask for it by itself.
void TellLiveProblems(CommandEnv& env, const v1::Bundle& bundle) {
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.kind() != v1::EVIDENCE_KIND_LIVE_NODE || evidence.outcome() == v1::OUTCOME_COLLECTED) continue;
    MessageArgs args;
    for (const auto& [name, value] : evidence.problem().args()) args.emplace_back(name, DisplayBytes(value));
    env.err << "paritect: note: " << env.rules.messages.Say(evidence.problem().id(), args).en() << "\n";
  }
}

constexpr char kLogs[] = "logs";

// What the plans' logs tell, plan by plan. A log is read by one core, and each side has its own: all at once.
std::vector<Pieces> ReadLogs(CommandEnv& env, absl::Span<const v1::Plan* const> plans, ReadingOptions reading) {
  std::vector<Pieces> logs;
  const int jobs = LogJobs(reading);
  reading.jobs = std::max(1, jobs / std::max(1, static_cast<int>(plans.size())));
  reading.only = {kLogs};
  reading.progress = "none";
  MakeInOrder(
      plans.size(), jobs, [&](std::size_t i) { return CollectPlan(Reading(env, reading, *plans[i]).env(), *plans[i]); },
      [&](v1::Bundle bundle) {
        logs.emplace_back(std::make_move_iterator(bundle.mutable_evidence()->begin()),
                          std::make_move_iterator(bundle.mutable_evidence()->end()));
      });
  return logs;
}

v1::Bundle Collect(CommandEnv& env, const v1::Plan& plan, const ReadingOptions& options,
                   std::optional<Pieces> logs = std::nullopt) {
  Reading reading(env, options, plan);
  if (logs) reading.env().given.emplace(kLogs, *std::move(logs));
  v1::Bundle bundle = CollectPlan(reading.env(), plan);
  TellLiveProblems(env, bundle);
  return bundle;
}

absl::StatusOr<std::vector<SideInput>> ReadSide(CommandEnv& env, const std::vector<std::string>& paths,
                                                const DraftOptions& options, SharedLists& lists) {
  std::vector<SideInput> inputs;
  for (const std::string& path : paths) {
    PARITECT_ASSIGN_OR_RETURN(SideInput input, ReadSideInput(env, path, options));
    for (v1::Bundle& bundle : input.bundles) lists.Take(bundle);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// What a person is told of an input needs none of its evidence, which may be large.
SideInput WithoutEvidence(const SideInput& input) {
  SideInput out;
  out.path = input.path;
  out.plans = input.plans;
  out.draft = input.draft;
  for (const v1::Bundle& bundle : input.bundles) *out.bundles.emplace_back().mutable_plan() = bundle.plan();
  return out;
}

// Before the long work begins: a folder that was taken for something else is then stopped at once.
std::string TellInputs(CommandEnv& env, absl::Span<const Language> languages, absl::Span<const SideInput> baseline,
                       absl::Span<const SideInput> migrated) {
  std::vector<SideInput> all;
  for (const auto& side : {baseline, migrated}) {
    for (const SideInput& input : side) all.push_back(WithoutEvidence(input));
  }
  const std::string lines =
      InputLines(env.rules, languages, static_cast<std::size_t>(std::max(40, env.terminal_columns)), all);
  if (lines.empty()) return "";
  env.err << lines << "\n";
  OrderedJson json = OrderedJson::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].draft) continue;
    OrderedJson one = {{"side", i < baseline.size() ? "baseline" : "migrated"}};
    one.update(InputToJson(env.rules, all[i]));
    json.push_back(std::move(one));
  }
  return DumpJson(json, -1);
}

}  // namespace

absl::StatusOr<v1::Bundle> LoadSidePlan(CommandEnv& env, const std::string& path, const ReadingOptions& reading) {
  PARITECT_ASSIGN_OR_RETURN(SideInput input, ReadSideInput(env, path, {}));
  if (input.plans.size() + input.bundles.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(path), ": the folder holds several nodes or parts of a run; name one of them"));
  }
  return input.plans.empty() ? std::move(input.bundles[0]) : Collect(env, input.plans[0], reading);
}

absl::StatusOr<AuditInput> LoadAuditInput(CommandEnv& env, const AuditArguments& options) {
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Language> languages, ChooseLanguages(options.lang, env.getenv));
  for (const std::string& path : options.baseline) {
    // A slip of typing that makes everything agree with itself.
    if (std::find(options.migrated.begin(), options.migrated.end(), path) == options.migrated.end()) continue;
    env.err << Localised(env.language, absl::StrCat("paritect: warning: ", TerminalSafe(DisplayBytes(path)),
                                                    " is given on both sides: it will agree with itself"))
            << "\n";
  }
  std::vector<SideInput> inputs[2];
  const auto lists = std::make_shared<SharedLists>();
  PARITECT_ASSIGN_OR_RETURN(inputs[0], ReadSide(env, options.baseline, {options.hash_data}, *lists));
  PARITECT_ASSIGN_OR_RETURN(inputs[1], ReadSide(env, options.migrated, {options.hash_data}, *lists));
  PairSideInputs(env, inputs[0], inputs[1]);
  AuditInput out;
  out.json = TellInputs(env, languages, inputs[0], inputs[1]);
  std::vector<v1::Bundle> sides[2];
  std::vector<bool> collected_here[2];  // a bundle's files are on another machine
  std::vector<const v1::Plan*> plans;
  for (const std::vector<SideInput>& side : inputs) {
    for (const SideInput& input : side) {
      for (const v1::Plan& plan : input.plans) plans.push_back(&plan);
    }
  }
  const bool asks_logs = options.reading.only.empty() || options.reading.only.contains(kLogs);
  std::vector<Pieces> logs = asks_logs ? ReadLogs(env, plans, options.reading) : std::vector<Pieces>(plans.size());
  auto next_logs = logs.begin();
  for (int side = 0; side < 2; ++side) {
    for (SideInput& input : inputs[side]) {
      for (const v1::Plan& plan : input.plans) {
        sides[side].push_back(Collect(env, plan, options.reading, std::move(*next_logs++)));
      }
      collected_here[side].resize(sides[side].size(), true);
      for (v1::Bundle& bundle : input.bundles) sides[side].push_back(std::move(bundle));
      collected_here[side].resize(sides[side].size(), false);
    }
  }
  out.evidence = AnsweredEvidence(
      std::move(sides[0]), std::move(sides[1]), {},
      [&](const DatasetQuestion& question, const v1::FileList& list, OwnList own) {
        const std::size_t side = question.side == Side::kBaseline ? 0 : 1;
        if (!collected_here[side][static_cast<std::size_t>(question.bundle)]) return;
        if (IsNamesOnly(list)) return;  // its content is not to be read
        AnswerDatasetQuestion(env.fs, question.path, question.laws, own());
      },
      lists);
  return out;
}

}  // namespace paritect
