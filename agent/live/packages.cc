// Which Python packages the training has: of its own interpreter where one runs, else of the interpreter that a
// person on this node would get (an active environment, the first python3 on the path), else of the system.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/live/live_parts.h"
#include "agent/live/python_packages.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

using absl::StrCat;

void AddFolder(FileSystem& fs, const std::string& folder, std::vector<std::string>& folders) {
  if (folder.empty() || !absl::StartsWith(folder, "/")) return;
  const std::string real = RealPathOn(fs, folder);
  if (std::find(folders.begin(), folders.end(), real) == folders.end()) folders.push_back(real);
}

void AddPrefix(FileSystem& fs, const std::string& prefix, std::vector<std::string>& folders) {
  if (prefix.empty()) return;
  for (const std::string& folder : SiteFoldersOf(fs, prefix)) AddFolder(fs, folder, folders);
}

// "/opt/conda" of "/opt/conda/bin/python3.10".
std::string PrefixOfProgram(absl::string_view program) {
  const absl::string_view folder = DirName(program);
  return BaseName(folder) == "bin" ? std::string(DirName(folder)) : "";
}

// The base interpreter of a virtual environment that also sees its packages.
std::string BaseOfVirtual(FileSystem& fs, const std::string& prefix) {
  auto text = ReadNodeText(fs, prefix + "/pyvenv.cfg");
  if (!text.ok() || !absl::StrContains(*text, "include-system-site-packages = true")) return "";
  std::string base;
  ForEachLine(*text, [&](absl::string_view line, std::int64_t) {
    const std::vector<absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (pair.size() == 2 && absl::StripAsciiWhitespace(pair[0]) == "home") {
      base = std::string(DirName(absl::StripAsciiWhitespace(pair[1])));
    }
  });
  return base;
}

using Variables = std::map<std::string, std::string>;

std::string Get(const Variables& variables, const char* name) {
  auto it = variables.find(name);
  return it == variables.end() ? "" : it->second;
}

// The order of sys.path: PYTHONPATH, the user's own folder, the environment, the system.
std::vector<std::string> FoldersOf(FileSystem& fs, const Variables& variables, const std::string& program,
                                   const std::set<std::string>& libraries) {
  std::vector<std::string> folders;
  for (absl::string_view folder : absl::StrSplit(Get(variables, "PYTHONPATH"), ':', absl::SkipEmpty())) {
    AddFolder(fs, std::string(folder), folders);
  }
  if (Get(variables, "PYTHONNOUSERSITE").empty() && !Get(variables, "HOME").empty()) {
    AddPrefix(fs, Get(variables, "HOME") + "/.local", folders);
  }
  for (const std::string& prefix : {Get(variables, "VIRTUAL_ENV"), Get(variables, "CONDA_PREFIX")}) {
    AddPrefix(fs, prefix, folders);
  }
  // Whatever it has loaded from a site folder proves that folder.
  for (const std::string& library : libraries) {
    for (absl::string_view site : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = absl::string_view(library).find(site);
      if (at != absl::string_view::npos) AddFolder(fs, library.substr(0, at + site.size() - 1), folders);
    }
  }
  AddPrefix(fs, PrefixOfProgram(RealPathOn(fs, program)), folders);
  if (const std::string base = BaseOfVirtual(fs, Get(variables, "VIRTUAL_ENV")); !base.empty()) {
    AddPrefix(fs, base, folders);
  }
  // Debian's python3 also looks beside its own prefix.
  if (absl::StartsWith(RealPathOn(fs, program), "/usr/bin/") && Get(variables, "VIRTUAL_ENV").empty()) {
    AddPrefix(fs, "/usr/local", folders);
  }
  return folders;
}

// The interpreter of somebody who works on this node: of this program's own environment.
std::vector<std::string> FoldersOfNode(FileSystem& fs) {
  Variables variables;
  const std::string text = ReadNodeText(fs, "/proc/self/environ").value_or("");
  for (absl::string_view one : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(one, absl::MaxSplits('=', 1));
    variables.emplace(std::string(pair.first), std::string(pair.second));
  }
  std::string path = Get(variables, "PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin";
  for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    for (const char* name : {"python3", "python"}) {
      std::string program = StrCat(folder, "/", name);
      if (!fs.Stat(program).ok()) continue;
      // pyenv puts a script there that chooses the interpreter.
      absl::string_view pyenv = folder;
      if (absl::ConsumeSuffix(&pyenv, "/.pyenv/shims")) {
        std::string version = Get(variables, "PYENV_VERSION");
        if (version.empty()) version = FirstLine(fs, StrCat(pyenv, "/.pyenv/version"));
        program = StrCat(pyenv, "/.pyenv/versions/", version, "/bin/", name);
      }
      if (!SiteFoldersOf(fs, PrefixOfProgram(RealPathOn(fs, program))).empty()) {
        return FoldersOf(fs, variables, program, {});
      }
    }
  }
  return FoldersOf(fs, variables, "/usr/bin/python3", {});
}

v1::SettingsDocument DocumentOf(const PythonPackages& all) {
  SettingsBuilder builder("packages", "packages", "live:packages");
  const auto add = [&](absl::string_view key, absl::string_view value, absl::string_view origin) {
    if (value.empty()) return;
    if (v1::Setting* one = builder.AddText(key, value, 1)) one->set_origin(std::string(origin));
  };
  add("python.version", all.python_version, all.folders.empty() ? "" : all.folders[0]);
  add("python.folders", absl::StrJoin(all.folders, ":"), "");
  add("torch.git_version", all.torch_git, "torch/version.py");
  add("torch.cuda_version", all.torch_cuda, "torch/version.py");
  for (const auto& [name, package] : all.packages) {
    add(StrCat("package.", name), package.version, package.origin);
    add(StrCat("package_source.", name), package.source, package.origin);
    if (package.shadows.empty()) continue;
    builder.AddNote(
        "package_ambiguous", 0,
        StrCat(name, ": ", package.version, " (", package.origin, ") and also ", absl::StrJoin(package.shadows, ", ")));
  }
  return builder.Finish();
}

void Report(LiveReport& report, FileSystem& fs, const std::vector<std::string>& folders, std::optional<int> rank) {
  const PythonPackages all = ReadPythonPackages(fs, folders);
  const std::string source = all.folders.empty() ? "live:packages" : all.folders[0];
  for (const std::string& why : all.unreadable) report.Failed("live_packages_unreadable", source, why);
  if (all.packages.empty()) return report.Absent("live_no_packages", source, absl::StrJoin(folders, ", "));
  report.Document(DocumentOf(all), source, rank);
}

}  // namespace

void ReportPackages(LiveReport& report, const ProcessSurvey& survey) {
  if (survey.ranks.empty()) {
    // Of another training's interpreter nothing is known; the node's own could pass for it.
    if (survey.ambiguous || !survey.unread.empty()) return;
    return Report(report, report.fs(), FoldersOfNode(report.fs()), std::nullopt);
  }
  std::set<std::vector<std::string>> told;
  for (const TrainingProcess& process : survey.ranks) {
    const std::unique_ptr<FileSystem> fs = FilesOf(report.fs(), process);
    const std::vector<std::string> folders = FoldersOf(*fs, process.environment, process.executable, process.libraries);
    if (!told.insert(folders).second) continue;
    // Ranks of one interpreter share one document; where they differ each says whose it is.
    Report(report, *fs, folders, told.size() == 1 ? std::nullopt : process.rank);
  }
}

}  // namespace paritect
