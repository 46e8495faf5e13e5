#include "client/report/offline_audit.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/datasets/follow_up.h"
#include "checks/datasets/follow_up.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

// Whether the file is a bundle, by its first bytes. A folder, a missing file: no, and the plan's reader says so.
bool IsBundle(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path);
  if (!file.ok()) return false;
  char head[8];
  auto n = (*file)->Read(absl::MakeSpan(head));
  return n.ok() && LooksLikeBundle(absl::string_view(head, *n));
}

absl::StatusOr<v1::Bundle> LoadBundle(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(fs, path, kBundleBytesMax));
  auto bundle = ParseBundle(bytes);
  if (!bundle.ok()) return Annotate(bundle.status(), DisplayBytes(path));
  return bundle;
}

// The plan's own file not being there is the commonest mistake of all: it is told in words.
absl::Status CheckPlanIsThere(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  if (!info.ok()) {
    if (!absl::IsNotFound(info.status())) return info.status();
    return absl::NotFoundError(absl::StrCat(
        DisplayBytes(path), ": not there; give a plan file, a folder that holds plan.yaml, or an evidence bundle"));
  }
  if (info->type != FileInfo::Type::kDirectory) return absl::OkStatus();
  if (absl::IsNotFound(fs.Stat(JoinPath(path, "plan.yaml")).status())) {
    return absl::NotFoundError(absl::StrCat(DisplayBytes(path), ": the folder holds no plan.yaml"));
  }
  return absl::OkStatus();
}

// What `live: true` did not see is told at once: few checks ask for it by itself.
void TellLiveProblems(CommandEnv& env, const v1::Bundle& bundle) {
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.kind() != v1::EVIDENCE_KIND_LIVE_NODE || evidence.outcome() == v1::OUTCOME_COLLECTED) continue;
    MessageArgs args;
    for (const auto& [name, value] : evidence.problem().args()) args.emplace_back(name, DisplayBytes(value));
    env.err << "paritect: note: " << env.rules.messages.Say(evidence.problem().id(), args).en() << "\n";
  }
}

}  // namespace

absl::StatusOr<v1::Bundle> LoadSidePlan(CommandEnv& env, const std::string& path, const ReadingOptions& reading) {
  PARITECT_RETURN_IF_ERROR(CheckPlanIsThere(env.fs, path));
  if (IsBundle(env.fs, path)) return LoadBundle(env.fs, path);
  if (absl::EndsWith(path, ".pbundle") && env.fs.Open(path).ok()) {
    return absl::DataLossError(absl::StrCat(DisplayBytes(path), ": byte 0: this is not an evidence bundle"));
  }
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadPlan(env.fs, path, env.host_name));
  PARITECT_RETURN_IF_ERROR(CheckPlanPaths(env.fs, plan));
  v1::Bundle bundle = CollectPlan(Reading(env, reading, plan).env(), plan);
  TellLiveProblems(env, bundle);
  return bundle;
}

absl::StatusOr<std::unique_ptr<EvidenceSet>> LoadEvidence(CommandEnv& env, const std::vector<std::string>& baseline,
                                                          const std::vector<std::string>& migrated,
                                                          const ReadingOptions& reading) {
  for (const std::string& path : baseline) {
    // A slip of typing that makes everything agree with itself.
    if (std::find(migrated.begin(), migrated.end(), path) == migrated.end()) continue;
    env.err << "paritect: warning: " << DisplayBytes(path) << " is given on both sides: it will agree with itself\n";
  }
  std::vector<v1::Bundle> sides[2];
  std::vector<bool> collected_here[2];  // a bundle's files are on another machine
  for (int side = 0; side < 2; ++side) {
    for (const std::string& path : side == 0 ? baseline : migrated) {
      PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadSidePlan(env, path, reading));
      sides[side].push_back(std::move(bundle));
      collected_here[side].push_back(!IsBundle(env.fs, path));
    }
  }
  return AnsweredEvidence(std::move(sides[0]), std::move(sides[1]), {},
                          [&](const DatasetQuestion& question, v1::FileList& list) {
                            const std::size_t side = question.side == Side::kBaseline ? 0 : 1;
                            if (!collected_here[side][static_cast<std::size_t>(question.bundle)]) return;
                            AnswerDatasetQuestion(env.fs, question.path, question.laws, list);
                          });
}

}  // namespace paritect
