#include "client/run/run_folder.h"

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/code_state.h"
#include "agent/collector.h"
#include "agent/live/live_report.h"
#include "agent/redaction.h"
#include "client/report/json.h"
#include "common/digest.h"
#include "common/errno_status.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/plan.h"
#include "formats/plan_text.h"
#include "formats/settings/settings_format.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr int kAttemptsMax = 10'000;

// A name that is one step of a path.
std::string AsStep(absl::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == '/' || c == '\0' || c == '\n') c = '_';
  }
  return out.empty() || out == "." || out == ".." ? "_" : out;
}

// Of ranks that are wrapped one by one (srun paritect run -- python train.py) each has its own folder.
std::string NodeStep(const RunRequest& request) {
  const std::string step = AsStep(request.plan.info().node()), rank = RankOfEnvironment(request.environment);
  return rank.empty() ? step : absl::StrCat(step, "-rank", rank);
}

std::string ShellQuoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("_-./=:,+@%", absl::string_view(&c, 1));
  });
  if (plain) return word;
  std::string out = "'";
  for (char c : word) absl::StrAppend(&out, c == '\'' ? "'\\''" : std::string(1, c));
  return out + "'";
}

// Variables of the allow-list in clear, of the others the name.
std::string EnvironmentText(CommandEnv& env, const RunRequest& request) {
  std::string text;
  for (const std::string& one : request.environment) {
    if (absl::StrContains(one, '\n')) continue;  // a shell function
    auto documents = ReadSettings(one + "\n", "environment", "environment");
    if (!documents.ok() || documents->empty()) continue;
    WithholdSecrets(env.rules.settings, (*documents)[0],
                    {"", {request.plan.in_clear().begin(), request.plan.in_clear().end()}});
    for (const v1::Setting& setting : (*documents)[0].settings()) {
      if (IsWithheld(setting)) {
        absl::StrAppend(&text, "# withheld: ", setting.raw_key(), "\n");
      } else {
        absl::StrAppend(&text, setting.raw_key(), "=", setting.raw_value(), "\n");
      }
    }
  }
  return text;
}

// Empty: the working folder is in no repository.
std::string CodeText(CommandEnv& env) {
  const auto state = ReadCodeState(env.fs, env.working_directory);
  if (!state) return "";
  OrderedJson json;
  json["git.commit"] = state->commit;
  if (!state->tree.empty()) json["git.tree"] = state->tree;
  if (state->dirty) json["git.dirty"] = *state->dirty;
  if (!state->unknown.empty()) json["git.dirty_unknown"] = JsonText(state->unknown);
  return DumpJson(json, 1) + "\n";
}

// The data sets of the plan that was given, by absolute paths. A path that is no text cannot stand in YAML.
std::string DatasetsText(const v1::Plan& plan) {
  std::string text;
  for (const v1::DatasetSource& source : plan.datasets()) {
    std::string paths;
    for (const auto& [key, path] : {std::pair("root", source.root()), std::pair("manifest", source.manifest()),
                                    std::pair("listing", source.listing())}) {
      if (!path.empty() && IsValidUtf8(path)) {
        absl::StrAppend(&paths, ", ", key, ": ", YamlQuoted(NormalPath(ResolvePath(plan, path))));
      }
    }
    if (paths.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "datasets:\n" : "", "  - {name: ", YamlQuoted(source.name()), paths);
    if (!source.include().empty()) absl::StrAppend(&text, ", include: ", YamlList(source.include()));
    if (!source.exclude().empty()) absl::StrAppend(&text, ", exclude: ", YamlList(source.exclude()));
    if (source.follow_symlinks()) absl::StrAppend(&text, ", follow_symlinks: true");
    if (source.part()) absl::StrAppend(&text, ", part: true");
    absl::StrAppend(&text, "}\n");
  }
  return text;
}

std::string PlanText(const RunRequest& request, bool has_code) {
  const v1::PlanInfo& info = request.plan.info();
  std::string text = "# Written by `paritect run`.\n";
  absl::StrAppend(&text, "run: ", YamlQuoted(request.run), "\nnode: ", YamlQuoted(DisplayBytes(info.node())), "\n");
  if (info.world_size() > 0) absl::StrAppend(&text, "world_size: ", info.world_size(), "\n");
  if (!info.platform().empty()) absl::StrAppend(&text, "platform: ", info.platform(), "\n");
  if (!info.framework().empty()) absl::StrAppend(&text, "framework: ", info.framework(), "\n");
  if (RoleWord(info.role()) != "run") absl::StrAppend(&text, "role: ", RoleWord(info.role()), "\n");
  absl::StrAppend(&text, DatasetsText(request.plan));
  if (!request.words.empty()) {
    absl::StrAppend(&text, "settings:\n  - {file: environment.txt, kind: environment}\n",
                    "  - {file: command.sh, kind: script}\n", has_code ? "  - code.json\n" : "",
                    "logs: [output.log]\n");
  }
  if (request.observed) absl::StrAppend(&text, "observed: [observe]\n");
  if (!request.traced) return text;
  absl::StrAppend(&text, "shards:\n");
  if (request.plan.datasets().empty()) absl::StrAppend(&text, "  - {trace: trace}\n");
  for (const v1::DatasetSource& source : request.plan.datasets()) {
    absl::StrAppend(&text, "  - {trace: trace, dataset: ", YamlQuoted(source.name()), "}\n");
  }
  return text;
}

// `name`: of the folder that the plan names; see RunFolder for what is given.
absl::StatusOr<std::string> MakeRecordFolder(const std::string& folder, absl::string_view name) {
  std::string path = absl::StrCat(folder, "/", name);
  const auto make = [&](mode_t mode) {
    return mkdir(path.c_str(), 0700) == 0 && chmod(path.c_str(), mode) == 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": ", ErrnoText(errno)));
  };
  const bool root = geteuid() == 0;
  PARITECT_RETURN_IF_ERROR(make(root ? 0711 : 0700));
  if (!root) return path;
  if (chmod(folder.c_str(), 0711) != 0) return absl::InvalidArgumentError(ErrnoText(errno));
  std::random_device device;
  absl::StrAppend(&path, "/");
  for (int i = 0; i < 4; ++i) absl::StrAppend(&path, absl::Hex(device(), absl::kZeroPad8));
  // It shows nothing, and nobody can take away what another wrote.
  PARITECT_RETURN_IF_ERROR(make(01733));
  return path;
}

}  // namespace

absl::Status MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(part), ": ", ErrnoText(errno)));
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

std::string RankOfEnvironment(const std::vector<std::string>& environment) {
  const LaunchPlace place = BuiltInLaunchers().PlaceOf(environment);
  return place.rank ? absl::StrCat(*place.rank) : "";
}

std::string RankDisagreement(const std::vector<std::string>& environment) {
  const LaunchPlace place = BuiltInLaunchers().PlaceOf(environment);
  return place.disagreeing.empty() ? "" : absl::StrCat(place.counted, " counts, not ", place.disagreeing);
}

bool IsFirstOfNode(const std::vector<std::string>& environment) {
  return BuiltInLaunchers().PlaceOf(environment).local_rank.value_or(0) == 0;
}

absl::StatusOr<RunFolder> MakeRunFolder(CommandEnv& env, const RunRequest& request) {
  const std::string parent = absl::StrCat(request.folder, "/", AsStep(request.run));
  PARITECT_RETURN_IF_ERROR(MakeFolders(parent));
  const std::string step = NodeStep(request);
  std::string folder;
  for (int attempt = 1;; ++attempt) {
    folder = attempt == 1 ? absl::StrCat(parent, "/", step) : absl::StrCat(parent, "/", step, ".", attempt);
    if (mkdir(folder.c_str(), 0700) == 0) break;
    if (errno != EEXIST || attempt == kAttemptsMax) {
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(folder), ": ", ErrnoText(errno)));
    }
  }
  RunFolder made = {.path = folder, .trace = "", .observe = ""};
  PARITECT_ASSIGN_OR_RETURN(made.trace, MakeRecordFolder(folder, "trace"));
  if (request.observed) {
    PARITECT_ASSIGN_OR_RETURN(made.observe, MakeRecordFolder(folder, "observe"));
  }
  std::map<std::string, std::string> files;
  std::string code;
  if (!request.words.empty()) {
    std::vector<std::string> shown;
    for (const std::string& word : WithoutSecrets(request.words)) shown.push_back(ShellQuoted(word));
    files["command.sh"] = absl::StrCat("#!/bin/sh\n", absl::StrJoin(shown, " "), "\n");
    files["environment.txt"] = EnvironmentText(env, request);
    code = CodeText(env);
    if (!code.empty()) files["code.json"] = code;
  }
  files["plan.yaml"] = PlanText(request, !code.empty());
  for (const auto& [name, text] : files) {
    PARITECT_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), text));
  }
  return made;
}

std::vector<std::string> DataRoots(CommandEnv& env, const v1::Plan& plan, const std::vector<std::string>& more) {
  std::vector<std::string> paths = more;
  for (const v1::DatasetSource& source : plan.datasets()) {
    if (!source.root().empty()) paths.push_back(ResolvePath(plan, source.root()));
  }
  std::set<std::string> roots;
  for (const std::string& path : paths) {
    const std::string absolute = NormalPath(JoinPath(env.working_directory, path));
    roots.insert(absolute);
    roots.insert(RealPathOn(env.fs, absolute));
  }
  return {roots.begin(), roots.end()};
}

}  // namespace paritect
