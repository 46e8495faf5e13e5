#include "client/plan/side_input.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/collect.h"
#include "agent/drafting/recognise.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "formats/plan_sources.h"

namespace paritect {
namespace {

// "; did you mean 'gpu/run1'?" of what lies where the path was looked for.
std::string NearestBeside(FileSystem& fs, const std::string& path) {
  std::vector<std::string> names;
  (void)fs.List(std::string(DirName(path)), [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
  std::sort(names.begin(), names.end());
  const absl::string_view name = BaseName(path);
  const std::string nearest = NearestWord(name, names);
  const std::string before = path.substr(0, path.size() - name.size());
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", DisplayBytes(absl::StrCat(before, nearest)), "'?");
}

// Whether the file is a bundle, by its first bytes.
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

absl::StatusOr<v1::Plan> LoadCheckedPlan(CommandEnv& env, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadPlan(env.fs, path, env.host_name));
  PARITECT_RETURN_IF_ERROR(CheckPlanPaths(env.fs, plan));
  return plan;
}

// Runs that were recorded below one folder must be one: else which of them is meant?
absl::Status CheckOneRun(const SideInput& input) {
  std::set<std::string> runs;
  for (const v1::Plan& plan : input.plans) runs.insert(DisplayBytes(plan.info().run()));
  for (const v1::Bundle& bundle : input.bundles) runs.insert(DisplayBytes(bundle.plan().run()));
  if (runs.size() < 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(input.path),
                                                 ": the folder holds several runs: ", absl::StrJoin(runs, ", "),
                                                 "; give each by itself (--baseline RUN --baseline RUN …)"));
}

// Evidence in a file of its own: an archive of msprobe, an event file, a log. A document of settings is likelier a plan
// with a mistake, which its reader names.
bool IsEvidence(const RecognisedFile& file) {
  const bool document = file.format == "yaml" || file.format == "json";
  return file.kind != FileKind::kUnknown && file.kind != FileKind::kPlan && file.kind != FileKind::kData && !document;
}

// The plan of a wrapped run with what was drafted beside it: one plan of one node, whose paths start from the folder
// that holds both.
v1::Plan WithBeside(v1::Plan run, const v1::Plan& beside) {
  absl::string_view below = run.base();
  if (!absl::ConsumePrefix(&below, beside.base())) return run;
  const std::string folder(absl::StripPrefix(below, "/"));
  MovePaths(folder, run);
  v1::Plan rest = beside;
  rest.clear_info();
  rest.clear_base();
  run.MergeFrom(rest);
  run.set_base(beside.base());
  run.mutable_info()->set_drafted(true);
  return run;
}

absl::StatusOr<SideInput> ReadDraft(CommandEnv& env, SideInput input, const DraftOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(Draft draft, DraftPlan(env.fs, env.rules, input.path, options));
  input.plans = draft.plans;
  for (const std::string& folder : draft.recorded) {
    PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadCheckedPlan(env, folder));
    if (draft.plans.empty()) {
      input.plans.push_back(std::move(plan));
    } else {
      input.plans = {WithBeside(std::move(plan), draft.plans[0])};
    }
  }
  for (const std::string& path : draft.bundles) {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadBundle(env.fs, path));
    input.bundles.push_back(std::move(bundle));
  }
  input.draft = std::move(draft);
  PARITECT_RETURN_IF_ERROR(CheckOneRun(input));
  return input;
}

}  // namespace

std::optional<v1::Plan> DraftOfRun(CommandEnv& env, const std::string& path) {
  const auto info = env.fs.Stat(path);
  const bool folder = info.ok() && info->type == FileInfo::Type::kDirectory;
  if (!folder || env.fs.Stat(JoinPath(path, "plan.yaml")).ok()) return std::nullopt;
  const auto input = ReadSideInput(env, path, {});
  if (!input.ok() || input->plans.size() != 1) return std::nullopt;
  const v1::Plan& plan = input->plans[0];
  return plan.logs_size() + plan.scripts_size() + plan.settings_size() > 0 ? std::optional(plan) : std::nullopt;
}

absl::StatusOr<SideInput> ReadSideInput(CommandEnv& env, const std::string& path, const DraftOptions& options) {
  SideInput input;
  input.path = path;
  const auto info = env.fs.Stat(path);
  if (absl::IsNotFound(info.status())) {
    return absl::NotFoundError(absl::StrCat(DisplayBytes(path),
                                            ": not there; give a run's folder, a plan file, or an evidence bundle",
                                            NearestBeside(env.fs, path)));
  }
  if (!info.ok()) return info.status();
  const bool folder = info->type == FileInfo::Type::kDirectory;
  if (folder && absl::IsNotFound(env.fs.Stat(JoinPath(path, "plan.yaml")).status())) {
    return ReadDraft(env, std::move(input), options);
  }
  if (!folder && IsBundle(env.fs, path)) {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadBundle(env.fs, path));
    input.bundles.push_back(std::move(bundle));
    return input;
  }
  if (!folder && absl::EndsWith(path, ".pbundle")) {
    return absl::DataLossError(absl::StrCat(DisplayBytes(path), ": byte 0: this is not an evidence bundle"));
  }
  const bool named_plan = absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml");
  if (!folder && !named_plan) {
    const RecognisedFile file = RecogniseFile(env.fs, env.rules, path, info->size_bytes);
    if (IsEvidence(file)) return ReadDraft(env, std::move(input), options);
    if (file.why == "not_taken_archive" || file.kind == FileKind::kData) {
      return absl::InvalidArgumentError(
          absl::StrCat(DisplayBytes(path),
                       ": an archive or data, not what a run left behind; unpack it, and give the run's folder"));
    }
  }
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadCheckedPlan(env, path));
  input.plans.push_back(std::move(plan));
  return input;
}

void PairSideInputs(CommandEnv& env, std::vector<SideInput>& baseline, std::vector<SideInput>& migrated) {
  std::vector<v1::Plan*> plans[2];
  for (int side = 0; side < 2; ++side) {
    for (SideInput& input : side == 0 ? baseline : migrated) {
      for (v1::Plan& plan : input.plans) plans[side].push_back(&plan);
    }
  }
  PairDataNames(env.fs, plans[0], plans[1]);
}

}  // namespace paritect
