#include "client/run/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collector.h"
#include "agent/live/child_process.h"
#include "agent/live/live_report.h"
#include "agent/redaction.h"
#include "client/report/json.h"
#include "common/digest.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/settings/settings_format.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr int kAttemptsMax = 10'000;

absl::Status MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(part), ": ", std::strerror(errno)));
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

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

std::string YamlQuoted(absl::string_view text) {
  std::string out = "'";
  for (char c : text) absl::StrAppend(&out, c == '\'' ? "''" : std::string(1, c));
  return out + "'";
}

// Variables of the allow-list in clear, of the others the name.
std::string EnvironmentText(CommandEnv& env, const std::vector<std::string>& environment) {
  std::string text;
  for (const std::string& one : environment) {
    if (absl::StrContains(one, '\n')) continue;  // a shell function
    auto documents = ReadSettings(one + "\n", "environment", "environment");
    if (!documents.ok() || documents->empty()) continue;
    WithholdSecrets(env.rules.settings, (*documents)[0], "");
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

absl::StatusOr<std::string> AskGit(const std::string& folder, std::vector<std::string> words) {
  ChildCommand command;
  command.words = {"/usr/bin/git", "-C", folder};
  command.words.insert(command.words.end(), words.begin(), words.end());
  // It reads only: no lock, no refreshed index, no program that the repository names.
  command.environment = {"GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "HOME=/", "LC_ALL=C",
                         "GIT_TERMINAL_PROMPT=0"};
  command.output_bytes_max = 256 << 20;
  PARITECT_ASSIGN_OR_RETURN(ChildResult result, RunChild(command));
  if (result.exit_code != 0) return absl::NotFoundError("no repository");
  return result.output;
}

// Empty: the working folder is in no repository, or git is not here.
std::string CodeText(const std::string& folder) {
  auto commit = AskGit(folder, {"-c", absl::StrCat("safe.directory=", folder), "rev-parse", "HEAD"});
  if (!commit.ok()) return "";
  OrderedJson json;
  json["git.commit"] = std::string(absl::StripAsciiWhitespace(*commit));
  auto changes = AskGit(folder, {"-c", absl::StrCat("safe.directory=", folder), "-c", "core.fsmonitor=false", "diff",
                                 "--no-ext-diff", "--no-textconv", "--binary", "HEAD"});
  if (changes.ok()) {
    json["git.dirty"] = !changes->empty();
    if (!changes->empty()) json["git.diff_sha256"] = ToHex(Sha256(*changes));
  }
  return json.dump(1) + "\n";
}

std::string YamlList(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(YamlQuoted(text));
  return absl::StrCat("[", absl::StrJoin(quoted, ", "), "]");
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
  if (info.role() == v1::ROLE_FP32_REFERENCE) absl::StrAppend(&text, "role: fp32-reference\n");
  absl::StrAppend(&text, DatasetsText(request.plan));
  if (!request.words.empty()) {
    absl::StrAppend(&text, "settings:\n  - {file: environment.txt, kind: environment}\n",
                    "  - {file: command.sh, kind: script}\n", has_code ? "  - code.json\n" : "",
                    "logs: [output.log]\n");
  }
  if (!request.traced) return text;
  absl::StrAppend(&text, "shards:\n");
  if (request.plan.datasets().empty()) absl::StrAppend(&text, "  - {trace: trace}\n");
  for (const v1::DatasetSource& source : request.plan.datasets()) {
    absl::StrAppend(&text, "  - {trace: trace, dataset: ", YamlQuoted(source.name()), "}\n");
  }
  return text;
}

}  // namespace

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

absl::StatusOr<std::string> MakeRunFolder(CommandEnv& env, const RunRequest& request) {
  const std::string parent = absl::StrCat(request.folder, "/", AsStep(request.run));
  PARITECT_RETURN_IF_ERROR(MakeFolders(parent));
  const std::string step = NodeStep(request);
  std::string folder;
  for (int attempt = 1;; ++attempt) {
    folder = attempt == 1 ? absl::StrCat(parent, "/", step) : absl::StrCat(parent, "/", step, ".", attempt);
    if (mkdir(folder.c_str(), 0700) == 0) break;
    if (errno != EEXIST || attempt == kAttemptsMax) {
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(folder), ": ", std::strerror(errno)));
    }
  }
  const std::string trace = absl::StrCat(folder, "/trace");
  if (mkdir(trace.c_str(), 0700) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(folder), ": ", std::strerror(errno)));
  }
  // Programs that root starts may become another user, and go on to write their records: into a folder that shows
  // nothing and where nobody can take away what another wrote.
  if (geteuid() == 0) {
    chmod(folder.c_str(), 0711);
    chmod(trace.c_str(), 01733);
  }
  std::map<std::string, std::string> files;
  std::string code;
  if (!request.words.empty()) {
    std::vector<std::string> shown;
    for (const std::string& word : WithoutSecrets(request.words)) shown.push_back(ShellQuoted(word));
    files["command.sh"] = absl::StrCat("#!/bin/sh\n", absl::StrJoin(shown, " "), "\n");
    files["environment.txt"] = EnvironmentText(env, request.environment);
    code = CodeText(env.working_directory);
    if (!code.empty()) files["code.json"] = code;
  }
  files["plan.yaml"] = PlanText(request, !code.empty());
  for (const auto& [name, text] : files) {
    PARITECT_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), text));
  }
  return folder;
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
