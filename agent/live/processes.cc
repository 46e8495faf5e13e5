#include "agent/live/processes.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "agent/live/live_report.h"
#include "agent/redaction.h"
#include "common/numbers.h"
#include "common/prefixed_file_system.h"
#include "common/status_macros.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kMapsBytesMax = 32 << 20;
constexpr std::size_t kCommandWordsShown = 6;
constexpr int kProcessesMax = 1 << 22;  // as Linux has it
constexpr int kPasses = 3;
constexpr absl::Duration kPassesApart = absl::Milliseconds(100);

// Names of libraries that only a program that trains (or infers) has mapped.
constexpr absl::string_view kFrameworks[] = {
    "libtorch_npu.so",    "libtorch_cuda",      "libtorch_cpu.so", "libtorch.so",
    "libtorch_python.so", "libmindspore",       "_c_expression",   "libtensorflow_framework",
    "libtensorflow_cc",   "_pywrap_tensorflow", "libpaddle",       "libhccl.so",
    "libnccl.so",         "xla_extension"};
// ... and those by which a program of another kind computes on a device.
constexpr absl::string_view kDeviceLibraries[] = {"libascendcl.so", "libascend_hal.so", "libcuda.so", "libcudart.so"};

constexpr absl::string_view kLaunchers[] = {"torchrun", "deepspeed",  "accelerate",       "msrun", "mpirun", "mpiexec",
                                            "srun",     "horovodrun", "llamafactory-cli", "swift"};

bool HasPrefixOf(absl::string_view name, absl::Span<const absl::string_view> prefixes) {
  return absl::c_any_of(prefixes, [name](absl::string_view one) { return absl::StartsWith(name, one); });
}

bool IsPython(absl::string_view word) {
  return absl::StartsWith(BaseName(word), "python");
}

bool IsLauncher(absl::Span<const std::string> words) {
  for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 8); ++i) {
    if (absl::c_linear_search(kLaunchers, BaseName(words[i]))) return true;
    if (absl::StartsWith(words[i], "torch.distributed.")) return true;
  }
  return false;
}

// By the command line alone, which everybody may read: Python outside the system's own folders, or a launcher.
bool LooksLikeTraining(absl::Span<const std::string> words) {
  if (words.empty()) return false;
  if (IsLauncher(words)) return true;
  if (!IsPython(words[0])) return false;
  for (const std::string& word : words.subspan(1)) {
    if (absl::StartsWith(word, "-")) continue;
    for (absl::string_view system : {"/usr/", "/lib/", "/sbin/", "/bin/", "/snap/", "/etc/"}) {
      if (absl::StartsWith(word, system)) return false;
    }
    return true;
  }
  return false;
}

std::string ShortCommand(absl::Span<const std::string> words) {
  const std::vector<std::string> clean = WithoutSecrets(words);
  const std::size_t shown = std::min(clean.size(), kCommandWordsShown);
  return StrCat(absl::StrJoin(absl::MakeSpan(clean).subspan(0, shown), " "), shown < clean.size() ? " ..." : "");
}

std::vector<std::string> NulSeparated(absl::string_view text) {
  absl::ConsumeSuffix(&text, absl::string_view("\0", 1));
  if (text.empty()) return {};
  return absl::StrSplit(text, '\0');
}

absl::string_view ValueOf(const TrainingProcess& process, absl::string_view name) {
  const auto value = process.environment.find(std::string(name));
  return value == process.environment.end() ? absl::string_view() : value->second;
}

class Reader {
 public:
  explicit Reader(FileSystem& fs)
      : fs_(fs),
        own_mounts_(fs.ReadLink("/proc/self/ns/mnt").value_or("")),
        first_mounts_(fs.ReadLink("/proc/1/ns/mnt").value_or("")) {}

  enum class Seen { kYes, kEnded, kHangs };

  // Everybody may read these. kEnded: or it is a thread of the kernel. kHangs: it waits in the kernel and cannot be
  // interrupted; reading its command line or maps could wait as long as it does.
  Seen ReadPublic(int pid, TrainingProcess& process) {
    process.pid = pid;
    auto status = ReadNodeText(fs_, Path(pid, "status"));
    if (!status.ok()) return Seen::kEnded;
    std::string name;
    bool hangs = false;
    for (absl::string_view line : absl::StrSplit(*status, '\n')) {
      const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::ByAnyChar(":\t"), absl::SkipEmpty());
      if (parts.size() < 2) continue;
      if (parts[0] == "Name") name = std::string(parts[1]);
      if (parts[0] == "State") hangs = absl::StartsWith(parts[1], "D");
      if (parts[0] == "PPid") process.parent = static_cast<int>(ParseInt(parts[1]).value_or(0));
      if (parts[0] == "Uid") process.user = static_cast<int>(ParseInt(parts[1]).value_or(0));
      if (parts[0] == "Cpus_allowed_list") process.cpus_allowed = std::string(parts[1]);
    }
    if (hangs) {
      process.words = {name};
      return Seen::kHangs;
    }
    auto words = ReadNodeText(fs_, Path(pid, "cmdline"));
    if (!words.ok() || words->empty()) return Seen::kEnded;
    process.words = NulSeparated(*words);
    return Seen::kYes;
  }

  // PermissionDenied: another user's. NotFound: it has ended.
  absl::Status ReadLibraries(TrainingProcess& process) {
    auto maps = ReadNodeText(fs_, Path(process.pid, "maps"), kMapsBytesMax);
    if (!maps.ok()) return fs_.Stat(Path(process.pid, "")).ok() ? maps.status() : absl::NotFoundError("ended");
    for (absl::string_view line : absl::StrSplit(*maps, '\n')) {
      const std::size_t slash = line.find('/');
      if (slash == absl::string_view::npos || !absl::StrContains(line.substr(slash), ".so")) continue;
      absl::string_view path = line.substr(slash);
      const bool deleted = absl::ConsumeSuffix(&path, " (deleted)");
      process.libraries.insert(std::string(path));
      if (deleted) process.deleted_libraries.insert(std::string(path));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPrivate(TrainingProcess& process) {
    PARITECT_ASSIGN_OR_RETURN(process.environment_text, ReadNodeText(fs_, Path(process.pid, "environ")));
    for (const std::string& variable : NulSeparated(process.environment_text)) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      process.environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    }
    process.executable = fs_.ReadLink(Path(process.pid, "exe")).value_or("");
    process.folder = fs_.ReadLink(Path(process.pid, "cwd")).value_or("");
    const std::string mounts = fs_.ReadLink(Path(process.pid, "ns/mnt")).value_or("");
    process.other_mounts = !mounts.empty() && !own_mounts_.empty() && mounts != own_mounts_;
    if (!mounts.empty() && !first_mounts_.empty()) process.container = mounts != first_mounts_ ? "yes" : "no";
    ReadDevices(process);
    const LaunchPlace place =
        BuiltInLaunchers().PlaceOf([&](absl::string_view name) { return ValueOf(process, name); });
    process.rank = place.rank;
    if (!place.disagreeing.empty()) {
      process.rank_disagreement = StrCat(place.counted, " counts, not ", place.disagreeing);
    }
    return absl::OkStatus();
  }

 private:
  static std::string Path(int pid, absl::string_view name) { return StrCat("/proc/", pid, "/", name); }

  void ReadDevices(TrainingProcess& process) {
    std::set<std::string> devices;
    for (const std::string& fd : SortedNames(fs_, Path(process.pid, "fd"))) {
      const std::string target = fs_.ReadLink(Path(process.pid, StrCat("fd/", fd))).value_or("");
      absl::string_view name = target;
      if (!absl::ConsumePrefix(&name, "/dev/")) continue;
      absl::string_view number = name;
      if (!absl::ConsumePrefix(&number, "davinci") && !absl::ConsumePrefix(&number, "nvidia")) continue;
      if (ParseInt(number)) devices.insert(std::string(name));
    }
    process.devices.assign(devices.begin(), devices.end());
  }

  FileSystem& fs_;
  const std::string own_mounts_;
  const std::string first_mounts_;
};

enum class Use { kNone, kDevice, kFramework };

Use UseOf(const TrainingProcess& process) {
  Use use = Use::kNone;
  for (const std::string& library : process.libraries) {
    if (HasPrefixOf(BaseName(library), kFrameworks)) return Use::kFramework;
    if (HasPrefixOf(BaseName(library), kDeviceLibraries)) use = Use::kDevice;
  }
  return use;
}

bool HidesOthers(FileSystem& fs) {
  // Who may see process 1 sees them all, whatever the mount says.
  if (ReadNodeText(fs, "/proc/1/status").ok()) return false;
  auto mounts = ReadNodeText(fs, "/proc/self/mountinfo");
  if (!mounts.ok()) return false;
  for (absl::string_view line : absl::StrSplit(*mounts, '\n')) {
    if (!absl::StrContains(line, " /proc ") || !absl::StrContains(line, "hidepid=")) continue;
    return !absl::StrContains(line, "hidepid=0") && !absl::StrContains(line, "hidepid=off");
  }
  return false;
}

using ById = std::map<int, TrainingProcess>;

const TrainingProcess* Find(const ById& all, int pid) {
  auto it = all.find(pid);
  return it == all.end() ? nullptr : &it->second;
}

// A data-loader worker or another helper: forked from a rank, it has that rank's number and no device of its own.
bool IsWorker(const ById& all, const TrainingProcess& process) {
  const TrainingProcess* parent = Find(all, process.parent);
  if (parent == nullptr || parent->rank != process.rank) return false;
  return absl::c_all_of(process.devices,
                        [&](const std::string& one) { return absl::c_linear_search(parent->devices, one); });
}

// It started ranks and is none: without number or device where its children have them.
bool IsLauncherOf(const ById& all, const TrainingProcess& process) {
  for (const auto& [pid, child] : all) {
    if (child.parent != process.pid || child.pid == process.pid) continue;
    if (!process.rank && child.rank) return true;
    if (process.devices.empty() && !child.devices.empty()) return true;
  }
  return false;
}

// What the processes of one training have in common.
std::string JobOf(const ById& all, const TrainingProcess& process) {
  const auto lookup = [&](absl::string_view name) { return ValueOf(process, name); };
  if (std::string job = BuiltInLaunchers().JobOf(lookup); !job.empty()) return job;
  int top = process.pid;
  for (const TrainingProcess* one = &process; one != nullptr && one->parent != one->pid; one = Find(all, one->parent)) {
    top = one->pid;
  }
  return StrCat("process ", top);
}

bool ByRank(const TrainingProcess& a, const TrainingProcess& b) {
  return std::make_pair(a.rank.value_or(-1), a.pid) < std::make_pair(b.rank.value_or(-1), b.pid);
}

std::string Describe(const std::string& job, const std::vector<TrainingProcess>& processes) {
  return StrCat(job, " (", processes.size(), " processes, pid ", processes[0].pid, ": ",
                ShortCommand(processes[0].words), ")");
}

// The training that is meant: the one of `wanted`, the only one, or the only one with ranks.
const std::string* Choose(const std::map<std::string, std::vector<TrainingProcess>>& jobs, std::optional<int> wanted) {
  const std::string* with_ranks = nullptr;
  int count = 0;
  for (const auto& [job, processes] : jobs) {
    for (const TrainingProcess& one : processes) {
      if (wanted && (one.pid == *wanted || one.parent == *wanted)) return &job;
    }
    if (processes[0].rank || processes.back().rank) {
      with_ranks = &job;
      ++count;
    }
  }
  if (wanted) return nullptr;
  if (jobs.size() == 1) return &jobs.begin()->first;
  return count == 1 ? with_ranks : nullptr;
}

void FindLauncher(Reader& reader, ProcessSurvey& survey) {
  int parent = survey.ranks[0].parent;
  for (int i = 0; i < 4 && parent > 1; ++i) {
    TrainingProcess process;
    if (reader.ReadPublic(parent, process) != Reader::Seen::kYes) return;
    if (IsLauncher(process.words)) {
      survey.launcher = std::move(process);
      return;
    }
    parent = process.parent;
  }
}

void Sort(const ById& all, std::optional<int> wanted, ProcessSurvey& survey) {
  std::map<std::string, std::vector<TrainingProcess>> jobs;
  for (const auto& [pid, process] : all) {
    if (IsLauncherOf(all, process)) continue;
    if (IsWorker(all, process)) {
      ++survey.workers;
    } else {
      jobs[JobOf(all, process)].push_back(process);
    }
  }
  for (auto& [job, processes] : jobs) absl::c_sort(processes, ByRank);
  const std::string* chosen = Choose(jobs, wanted);
  survey.ambiguous = chosen == nullptr && !jobs.empty();
  for (auto& [job, processes] : jobs) {
    if (chosen != nullptr && job == *chosen) {
      survey.ranks = processes;
    } else {
      survey.others.push_back(Describe(job, processes));
    }
  }
}

// Looks at each process and keeps those that train.
class Surveyor {
 public:
  Surveyor(FileSystem& fs, const std::set<int>& device_processes, ProcessSurvey& survey)
      : reader_(fs), device_processes_(device_processes), survey_(survey) {}

  // Gives those that hang now. `last`: they are not looked at again.
  std::vector<int> Look(const std::vector<int>& pids, bool last) {
    std::vector<int> hang;
    for (const int pid : pids) {
      TrainingProcess process;
      const Reader::Seen seen = reader_.ReadPublic(pid, process);
      if (seen == Reader::Seen::kYes) LookAt(std::move(process));
      if (seen != Reader::Seen::kHangs) continue;
      hang.push_back(pid);
      const bool suspect = device_processes_.contains(pid) || IsPython(process.words[0]) ||
                           absl::StartsWith(process.words[0], "pt_main_thread");
      if (last && suspect) AddUnread(process, "it hangs in the kernel (state D)");
    }
    return hang;
  }

  const ById& all() const { return all_; }
  Reader& reader() { return reader_; }

 private:
  void AddUnread(const TrainingProcess& process, absl::string_view why) {
    survey_.unread.push_back({process.pid, process.user, ShortCommand(process.words), std::string(why)});
  }

  void LookAt(TrainingProcess process) {
    absl::Status status = reader_.ReadLibraries(process);
    const Use use = UseOf(process);
    if (status.ok() && use != Use::kNone) status = reader_.ReadPrivate(process);
    if (status.ok() && (use == Use::kFramework || (use == Use::kDevice && !process.devices.empty()))) {
      all_.emplace(process.pid, std::move(process));
    } else if (!status.ok() && !absl::IsNotFound(status) &&
               (use != Use::kNone || device_processes_.contains(process.pid) || LooksLikeTraining(process.words))) {
      AddUnread(process, status.message());
    }
  }

  Reader reader_;
  const std::set<int>& device_processes_;
  ProcessSurvey& survey_;
  ById all_;
};

}  // namespace

std::string TrainingProcess::Variable(const std::string& name) const {
  auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

std::unique_ptr<FileSystem> FilesOf(FileSystem& fs, const TrainingProcess& process) {
  return std::make_unique<PrefixedFileSystem>(fs, process.other_mounts ? StrCat("/proc/", process.pid, "/root") : "");
}

ProcessSurvey SurveyProcesses(FileSystem& fs, const std::set<int>& device_processes, std::optional<int> wanted) {
  ProcessSurvey survey;
  survey.hidden = HidesOthers(fs);
  Surveyor surveyor(fs, device_processes, survey);
  std::vector<int> pids;
  for (const std::string& name : SortedNames(fs, "/proc")) {
    const auto pid = ParseInt(name);
    if (pid && *pid > 0 && *pid <= kProcessesMax) pids.push_back(static_cast<int>(*pid));
  }
  for (int pass = 0; pass < kPasses && !pids.empty(); ++pass) {
    // Waiting for a disk is short, hanging in a driver is not.
    if (pass > 0) absl::SleepFor(kPassesApart);
    pids = surveyor.Look(pids, pass + 1 == kPasses);
  }
  Sort(surveyor.all(), wanted, survey);
  if (!survey.ranks.empty()) FindLauncher(surveyor.reader(), survey);
  return survey;
}

}  // namespace paritect
