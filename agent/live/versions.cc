// Versions of driver, firmware, CANN and CUDA, from the files that their installers leave, and of the libraries that
// the training has mapped: of several installations side by side the one that is loaded counts; the others are named.
// Layouts: docs/live-node.md.
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/live/live_parts.h"
#include "common/glob.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kDefaultAscend[] = "/usr/local/Ascend";

std::map<std::string, std::string> KeyValues(FileSystem& fs, absl::string_view path) {
  std::map<std::string, std::string> values;
  auto text = ReadNodeText(fs, path);
  if (!text.ok()) return values;
  ForEachLine(*text, [&](absl::string_view line, std::int64_t) {
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos) return;
    values.try_emplace(std::string(absl::StripAsciiWhitespace(line.substr(0, equals))),
                       absl::StripAsciiWhitespace(line.substr(equals + 1)));
  });
  return values;
}

// A version file in the vendors' forms. `component`: what a bare "Version=" in it is the version of. The document is
// empty where the file is not there; a damaged one is reported.
v1::SettingsDocument ReadVersions(LiveReport& report, FileSystem& fs, const std::string& path,
                                  absl::string_view component) {
  v1::SettingsDocument none;
  auto text = ReadNodeText(fs, path);
  if (!text.ok()) {
    report.FailedRead(path, text.status());
    return none;
  }
  auto document = FindSettingsFormat("versions")->parse(*text, path);
  if (!document.ok()) {
    report.FailedRead(path, document.status());
    return none;
  }
  for (v1::Setting& setting : *document->mutable_settings()) {
    if (setting.raw_key() == "component.version") setting.set_raw_key(StrCat(component, ".version"));
  }
  return *std::move(document);
}

// The driver's version where one tool alone tells it.
void ReportDriverByTool(LiveReport& report, const DeviceSurvey& devices) {
  if (devices.driver_version.empty()) return report.Failed("live_driver_unknown", "/proc/driver, /usr/local");
  SettingsBuilder builder("versions", "versions", devices.driver_version_from);
  builder.AddText("driver.version", devices.driver_version, 1)->set_origin(devices.driver_version_from);
  report.Document(builder.Finish(), devices.driver_version_from);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ..." and "NVIDIA UNIX Open Kernel Module for x86_64
// 565.57.01  Release Build": the first dotted number behind the word Module.
std::string NvrmVersion(absl::string_view line) {
  static const RE2* const kVersion = new RE2(R"(\bModule\b.*?\s(\d+(?:\.\d+)+)(?:\s|$))");
  std::string version;
  RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *kVersion, &version);
  return version;
}

bool ReportNvidiaDriver(LiveReport& report) {
  static constexpr char kModule[] = "/sys/module/nvidia/version";
  static constexpr char kProc[] = "/proc/driver/nvidia/version";
  const std::string proc = FirstLine(report.fs(), kProc);
  std::string version = FirstLine(report.fs(), kModule);
  const bool by_module = !version.empty();
  if (!by_module) version = NvrmVersion(proc);
  if (version.empty()) return false;
  const char* const from = by_module ? kModule : kProc;
  SettingsBuilder builder("versions", "versions", from);
  builder.AddText("driver.version", version, 1);
  if (!proc.empty()) {
    v1::Setting* one = builder.AddText("driver.modules", absl::StrContains(proc, "Open Kernel") ? "open" : "closed", 1);
    one->set_origin(StrCat(kProc, ":1"));
  }
  report.Document(builder.Finish(), from);
  return true;
}

bool ReportAscendDriver(LiveReport& report) {
  const AscendDriver driver = AscendDriverOf(report.fs());
  const std::string path = StrCat(driver.folder, "/driver/version.info");
  v1::SettingsDocument document = ReadVersions(report, report.fs(), path, "driver");
  const bool found = !document.settings().empty();
  if (found && !driver.incomplete.empty()) {
    v1::Note& note = *document.add_notes();
    note.set_kind("driver_installation_incomplete");
    note.set_message(driver.incomplete);
  }
  report.Document(std::move(document), path);
  const std::string firmware = StrCat(driver.folder, "/firmware/version.info");
  report.Document(ReadVersions(report, report.fs(), firmware, "firmware"), firmware);
  return found;
}

// --- CANN -----------------------------------------------------------------------------------------------

// "/usr/local/Ascend/ascend-toolkit/8.0.RC3" of ".../8.0.RC3/lib64/libascendcl.so" and its deeper forms.
std::string RootOfLibrary(absl::string_view path) {
  std::size_t cut = path.size();
  for (absl::string_view part :
       {"/lib64/", "/runtime/", "/aarch64-linux/", "/x86_64-linux/", "/acllib/", "/fwkacllib/"}) {
    cut = std::min(cut, path.find(part));
  }
  return cut < path.size() ? std::string(path.substr(0, cut)) : "";
}

// Where CANN may be, the surest first. The same place by two names counts once.
std::vector<std::string> CannRoots(FileSystem& fs, const TrainingProcess* process) {
  std::vector<std::string> names;
  if (process != nullptr) {
    for (const std::string& library : process->libraries) {
      if (absl::StartsWith(BaseName(library), "libascendcl.so")) names.push_back(RootOfLibrary(library));
    }
    for (const char* variable : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
      names.push_back(process->Variable(variable));
    }
  }
  for (const char* fixed : {"nnae/latest", "ascend-toolkit/latest", "cann", "latest", "nnrt/latest"}) {
    names.push_back(StrCat(kDefaultAscend, "/", fixed));
  }
  std::vector<std::string> roots;
  for (const std::string& name : names) {
    if (name.empty() || !fs.Stat(name).ok()) continue;
    const std::string real = RealPathOn(fs, name);
    if (std::find(roots.begin(), roots.end(), real) == roots.end()) roots.push_back(real);
  }
  return roots;
}

// All versions that one installation states. Keys that stand already are not stated again.
void ReadCannRoot(LiveReport& report, FileSystem& fs, const std::string& root,
                  std::vector<std::pair<std::string, v1::SettingsDocument>>& documents) {
  documents.emplace_back(root + "/version.cfg", ReadVersions(report, fs, root + "/version.cfg", "cann"));
  std::vector<std::string> folders = {root};
  for (const char* machine : {"aarch64-linux", "x86_64-linux"}) folders.push_back(StrCat(root, "/", machine));
  for (const std::string& folder : folders) {
    for (const std::string& name : SortedNames(fs, folder)) {
      if (!GlobMatch("ascend_*_install.info", name)) continue;
      const std::string path = StrCat(folder, "/", name);
      documents.emplace_back(path, ReadVersions(report, fs, path, "cann"));
    }
  }
  for (const char* part : {"runtime", "compiler", "opp", "hccl", "toolkit"}) {
    const std::string path = StrCat(root, "/", part, "/version.info");
    documents.emplace_back(path, ReadVersions(report, fs, path, StrCat("cann.", part)));
  }
}

// Installations beside the one that counts, by the names of their folders.
std::string OtherInstallations(FileSystem& fs, const std::vector<std::string>& roots) {
  std::set<std::string> others(roots.begin() + 1, roots.end());
  for (const char* folder : {"ascend-toolkit", "nnae", "."}) {
    const std::string parent = folder[0] == '.' ? kDefaultAscend : StrCat(kDefaultAscend, "/", folder);
    for (const std::string& name : SortedNames(fs, parent)) {
      const bool version = absl::ascii_isdigit(static_cast<unsigned char>(name[0])) || absl::StartsWith(name, "cann-");
      if (version && StrCat(parent, "/", name) != roots[0]) others.insert(StrCat(parent, "/", name));
    }
  }
  return absl::StrJoin(others, ", ");
}

void ReportCann(LiveReport& report, FileSystem& fs, const TrainingProcess* process) {
  const std::vector<std::string> roots = CannRoots(fs, process);
  if (roots.empty()) return report.Absent("live_no_cann", kDefaultAscend);
  std::vector<std::pair<std::string, v1::SettingsDocument>> documents;
  ReadCannRoot(report, fs, roots[0], documents);
  std::set<std::string> stated;
  for (auto& [path, document] : documents) {
    v1::SettingsDocument kept = document;
    kept.clear_settings();
    for (const v1::Setting& setting : document.settings()) {
      if (stated.insert(setting.raw_key()).second) *kept.add_settings() = setting;
    }
    report.Document(std::move(kept), path);
  }
  SettingsBuilder builder("versions", "versions", roots[0]);
  builder.AddText("cann.installation", roots[0], 1)->set_origin(roots[0]);
  if (const std::string others = OtherInstallations(fs, roots); !others.empty()) {
    builder.AddText("cann.other_installations", others, 1)->set_origin(kDefaultAscend);
  }
  report.Document(builder.Finish(), roots[0]);
  if (stated.empty()) report.Failed("live_cann_unknown", roots[0]);
}

// --- CUDA -----------------------------------------------------------------------------------------------

void ReportCuda(LiveReport& report, FileSystem& fs, const TrainingProcess* process) {
  std::string home = process == nullptr ? "" : process->Variable("CUDA_HOME");
  if (home.empty() || !fs.Stat(home).ok()) home = "/usr/local/cuda";
  for (const char* name : {"version.json", "version.txt"}) {
    const std::string path = StrCat(home, "/", name);
    v1::SettingsDocument document = ReadVersions(report, fs, path, "cuda");
    if (document.settings().empty()) continue;
    report.Document(std::move(document), path);
    break;
  }
  std::vector<std::string> others;
  const std::string real = RealPathOn(fs, home);
  for (const std::string& name : SortedNames(fs, "/usr/local")) {
    if (!absl::StartsWith(name, "cuda-")) continue;
    const std::string path = StrCat("/usr/local/", name);
    if (RealPathOn(fs, path) != real) others.push_back(path);
  }
  if (others.empty()) return;
  SettingsBuilder builder("versions", "versions", "/usr/local");
  builder.AddText("cuda.other_installations", absl::StrJoin(others, ", "), 1)->set_origin("/usr/local");
  report.Document(builder.Finish(), "/usr/local");
}

// --- what is loaded ---------------------------------------------------------------------------------------

// File name up to ".so" -> what it is called in the report.
constexpr std::pair<absl::string_view, absl::string_view> kLoaded[] = {{"libcudart.so", "cudart"},
                                                                       {"libcudnn.so", "cudnn"},
                                                                       {"libnccl.so", "nccl"},
                                                                       {"libcublas.so", "cublas"},
                                                                       {"libhccl.so", "hccl"},
                                                                       {"libascendcl.so", "ascendcl"},
                                                                       {"libtorch_cpu.so", "torch"},
                                                                       {"libtorch_npu.so", "torch_npu"},
                                                                       {"libtensorflow_framework.so", "tensorflow"},
                                                                       {"libmindspore_core.so", "mindspore"},
                                                                       {"libcuda.so", "cuda_driver"},
                                                                       {"libc.so", "libc"}};

// "12.1.105" of "libcudart.so.12.1.105"; "" of "libnccl.so.2", which names an interface, no version.
std::string VersionInName(absl::string_view name, absl::string_view stem) {
  absl::ConsumePrefix(&name, stem);
  absl::ConsumePrefix(&name, ".");
  return absl::StrContains(name, '.') ? std::string(name) : "";
}

// What the ranks have loaded; ranks that have the same are told once.
void ReportLoaded(LiveReport& report, const TrainingProcess& process, std::set<std::string>& told) {
  const std::string label = StrCat("/proc/", process.pid, "/maps");
  SettingsBuilder builder("versions", "versions", label);
  const std::unique_ptr<FileSystem> files = FilesOf(report.fs(), process);
  for (const std::string& library : process.libraries) {
    for (const auto& [stem, name] : kLoaded) {
      if (!absl::StartsWith(BaseName(library), stem)) continue;
      // The mapped path may be a link by now; its target's name ends in the full version.
      std::string version = VersionInName(BaseName(library), stem);
      if (version.empty()) version = VersionInName(BaseName(RealPathOn(*files, library)), stem);
      if (!version.empty()) builder.AddText(StrCat("loaded.", name, ".version"), version, 1)->set_origin(label);
      builder.AddText(StrCat("loaded.", name, ".file"), library, 1)->set_origin(label);
      if (process.deleted_libraries.contains(library)) {
        builder.AddText(StrCat("loaded.", name, ".exchanged"), "yes", 1)->set_origin(label);
      }
    }
  }
  v1::SettingsDocument document = builder.Finish();
  std::string all;
  for (const v1::Setting& one : document.settings()) absl::StrAppend(&all, one.raw_key(), "=", one.raw_value(), "\n");
  if (told.insert(all).second) report.Document(std::move(document), label, process.rank);
}

}  // namespace

AscendDriver AscendDriverOf(FileSystem& fs) {
  AscendDriver driver;
  static constexpr char kInfo[] = "/etc/ascend_install.info";
  const std::map<std::string, std::string> info = KeyValues(fs, kInfo);
  if (auto path = info.find("Driver_Install_Path_Param"); path != info.end()) driver.folder = path->second;
  if (!info.empty()) {
    auto status = info.find("Driver_Install_Status");
    if (status == info.end() || status->second != "complete") {
      driver.incomplete = StrCat(kInfo, " does not say Driver_Install_Status=complete");
    }
  }
  if (driver.folder.empty()) {
    const std::string conf = FirstLine(fs, "/lib/davinci.conf");
    absl::string_view line = conf;
    if (absl::ConsumePrefix(&line, "DAVINCI_HOME_PATH=")) driver.folder = std::string(absl::StripAsciiWhitespace(line));
  }
  if (!absl::StartsWith(driver.folder, "/")) driver.folder = kDefaultAscend;
  absl::string_view folder = driver.folder;
  absl::ConsumeSuffix(&folder, "/");
  driver.folder = std::string(folder);
  return driver;
}

void ReportVersions(LiveReport& report, const DeviceSurvey& devices, const ProcessSurvey& survey) {
  const TrainingProcess* process = survey.ranks.empty() ? nullptr : &survey.ranks[0];
  std::unique_ptr<FileSystem> own;
  if (process != nullptr) own = FilesOf(report.fs(), *process);
  FileSystem& files = own == nullptr ? report.fs() : *own;
  bool driver = ReportNvidiaDriver(report);
  if (devices.ascend || report.fs().Stat(StrCat(AscendDriverOf(report.fs()).folder, "/driver")).ok()) {
    driver = ReportAscendDriver(report) || driver;
  }
  if (!driver && (devices.ascend || devices.nvidia)) ReportDriverByTool(report, devices);
  if (devices.ascend || files.Stat(kDefaultAscend).ok()) ReportCann(report, files, process);
  ReportCuda(report, files, process);
  std::set<std::string> told;
  for (const TrainingProcess& rank : survey.ranks) ReportLoaded(report, rank, told);
}

}  // namespace paritect
