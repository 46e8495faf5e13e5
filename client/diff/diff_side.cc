#include "client/diff/diff_side.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "client/plan/side_input.h"
#include "client/remote/remote_evidence.h"
#include "client/report/offline_audit.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytes = 1 << 20;

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

// A plan names what it collects; a configuration file of a framework does not, and a log is no document at all.
bool LooksLikePlan(FileSystem& fs, const std::string& path) {
  if (absl::EndsWith(path, ".pbundle")) return true;
  auto text = ReadWholeFile(fs, path, kHeadBytes);
  if (!text.ok()) return false;  // larger than any plan
  if (LooksLikeBundle(*text)) return true;
  auto root = ParseDocument(*text);
  if (!root.ok() || !root->is_map()) return BaseName(path) == "plan.yaml";
  const DocumentNode* settings = root->Find("settings");
  const DocumentNode* logs = root->Find("logs");
  return BaseName(path) == "plan.yaml" || root->Find("run") != nullptr ||
         (settings != nullptr && settings->is_list()) || (logs != nullptr && logs->is_list());
}

void AddFile(v1::Plan& plan, const std::string& name, BareFiles bare) {
  if (bare == BareFiles::kLogs) {
    plan.add_logs()->set_file(name);
  } else {
    plan.add_settings()->set_file(name);
  }
}

// Files without a plan: one file, or those that lie in a folder.
absl::StatusOr<v1::Bundle> CollectFiles(CommandEnv& env, const std::string& path, BareFiles bare) {
  v1::Plan plan;
  plan.mutable_info()->set_run(DisplayBytes(path));
  plan.mutable_info()->set_node(env.host_name);
  plan.mutable_info()->set_role(v1::ROLE_RUN);
  plan.mutable_info()->set_platform("auto");
  plan.mutable_info()->set_framework("auto");
  plan.mutable_info()->set_plan_file(DisplayBytes(path));
  std::vector<std::string> names;
  if (IsFolder(env.fs, path)) {
    plan.set_base(path);
    PARITECT_RETURN_IF_ERROR(env.fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
    std::sort(names.begin(), names.end());
  } else {
    plan.set_base(std::string(DirName(path)));
    names.emplace_back(BaseName(path));
  }
  for (const std::string& name : names) {
    if (!IsFolder(env.fs, JoinPath(plan.base(), name))) AddFile(plan, name, bare);
  }
  return CollectPlan({env.fs, env.rules}, plan);
}

using Bundles = std::vector<v1::Bundle>;

absl::StatusOr<Bundles> One(absl::StatusOr<v1::Bundle> bundle) {
  if (!bundle.ok()) return bundle.status();
  Bundles bundles;
  bundles.push_back(*std::move(bundle));
  return bundles;
}

// A run's folder without a plan, read as `check` reads it, for what is asked alone: data and weights are left where
// they are. None where nothing of that kind is recognised in it.
absl::StatusOr<Bundles> LoadDrafted(CommandEnv& env, const std::string& path, BareFiles bare) {
  Bundles bundles;
  auto input = ReadSideInput(env, path, {});
  if (!input.ok()) return bundles;
  for (v1::Plan& plan : input->plans) {
    plan.clear_datasets();
    plan.clear_shards();
    plan.clear_weights();
    plan.clear_tensors();
    if (bare == BareFiles::kLogs) plan.clear_settings();
    if (plan.settings_size() + plan.logs_size() + plan.observed_size() == 0) continue;
    bundles.push_back(CollectPlan({env.fs, env.rules}, plan));
  }
  for (v1::Bundle& bundle : input->bundles) bundles.push_back(std::move(bundle));
  return bundles;
}

// Nobody who compares sides this way looks at data sets, weights or tensors of a plan.
absl::StatusOr<v1::Bundle> LoadPlanned(CommandEnv& env, const std::string& path) {
  ReadingOptions reading;
  for (const Collector* collector : AllCollectors()) {
    if (!collector->costly || collector->name == "logs") reading.only.emplace(collector->name);
  }
  return LoadSidePlan(env, path, reading);
}

absl::StatusOr<Bundles> LoadLocal(CommandEnv& env, const std::string& path, BareFiles bare) {
  if (!IsFolder(env.fs, path)) {
    return One(LooksLikePlan(env.fs, path) ? LoadPlanned(env, path) : CollectFiles(env, path, bare));
  }
  if (env.fs.Stat(JoinPath(path, "plan.yaml")).ok()) return One(LoadPlanned(env, path));
  PARITECT_ASSIGN_OR_RETURN(Bundles drafted, LoadDrafted(env, path, bare));
  return drafted.empty() ? One(CollectFiles(env, path, bare)) : std::move(drafted);
}

}  // namespace

absl::StatusOr<std::vector<v1::Bundle>> LoadDiffSide(CommandEnv& env, const std::string& text, BareFiles bare) {
  if (env.fs.Stat(text).ok()) return LoadLocal(env, text, bare);
  return LoadServerSide(env, text,
                        absl::StrCat("give a plan, a folder, an evidence bundle or a ",
                                     bare == BareFiles::kLogs ? "log" : "settings", " file"));
}

absl::StatusOr<std::vector<v1::Bundle>> LoadServerSide(CommandEnv& env, const std::string& text,
                                                       absl::string_view not_there) {
  if (IsRemoteSide(text)) return LoadRemoteSide(env, text);
  const std::string told = absl::StrCat(DisplayBytes(text), ": not there; ", not_there);
  // A bare word may be a run on the server; a path that is not there is likelier a slip.
  if (absl::StrContains(text, '/') || absl::StrContains(text, '.') || env.connector == nullptr) {
    return absl::NotFoundError(told);
  }
  auto run = LoadRemoteRun(env, text);
  if (run.ok() && !run->empty()) return run;
  return absl::NotFoundError(
      absl::StrCat(told, "; nor a run on the server", run.ok() ? "" : absl::StrCat(" (", run.status().message(), ")")));
}

}  // namespace paritect
