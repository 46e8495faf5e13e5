#include "agent/trace/attached_recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/file_system.h"
#include "common/numbers.h"
#include "common/utf8.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 50'000'000;
constexpr int kDepthMax = 64;
constexpr int kAncestorsMax = 64;
constexpr int kPollMs = 200;
constexpr std::uint64_t kProcBytesMax = 8 << 20;

using FileKey = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
using Record = std::string;

std::string ReadProc(int pid, absl::string_view name) {
  return ReadWholeFile(PosixFileSystem(), absl::StrCat("/proc/", pid, "/", name), kProcBytesMax).value_or("");
}

struct ProcessStat {
  int parent = 0;
  std::int64_t start = 0;
};

std::optional<ProcessStat> StatOf(int pid) {
  const std::string text = ReadProc(pid, "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(absl::string_view(text).substr(name_end + 1), ' ');
  if (fields.size() < 21) return std::nullopt;  // fields[1] is field 3
  return ProcessStat{static_cast<int>(ParseInt(fields[2]).value_or(0)), ParseInt(fields[20]).value_or(0)};
}

std::int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The files of the data, by what does not depend on who looks.
class DataFiles {
 public:
  absl::Status Walk(const std::string& root) {
    std::vector<Folder> left(1);
    left[0].path = root;
    while (!left.empty()) {
      const Folder folder = left.back();
      left.pop_back();
      const auto see = [&](const DirectoryEntry& entry) {
        const std::string path = JoinPath(folder.path, entry.name);
        auto info = PosixFileSystem().Stat(path);
        if (!info.ok() || files_.size() >= kFilesMax) return;
        if (info->type == FileInfo::Type::kRegular) files_.try_emplace({info->device, info->inode}, path);
        if (info->type != FileInfo::Type::kDirectory || folder.depth >= kDepthMax) return;
        if (PosixFileSystem().ReadLink(path).ok()) return;  // a link to a folder
        Folder& below = left.emplace_back();
        below.path = path;
        below.depth = folder.depth + 1;
      };
      const absl::Status status = PosixFileSystem().List(folder.path, see);
      if (!status.ok() && folder.depth == 0) return status;
    }
    return absl::OkStatus();
  }

  const std::string* Find(const struct stat& file) const {
    auto it = files_.find({static_cast<std::uint64_t>(file.st_dev), static_cast<std::uint64_t>(file.st_ino)});
    return it == files_.end() ? nullptr : &it->second;
  }
  std::size_t size() const { return files_.size(); }

 private:
  struct Folder {
    std::string path;
    int depth = 0;
  };
  absl::flat_hash_map<FileKey, std::string> files_;
};

class Recorder {
 public:
  explicit Recorder(const AttachOptions& options) : options_(options) {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    host_ = host;
  }

  absl::StatusOr<AttachSummary> Run(absl::FunctionRef<bool()> stop) {
    for (int pid : options_.pids) {
      auto stat = StatOf(pid);
      if (!stat) return absl::NotFoundError(absl::StrCat("no process ", pid));
      roots_.insert({pid, stat->start});
    }
    for (const std::string& root : options_.roots) {
      if (absl::Status status = files_.Walk(root); !status.ok()) return status;
    }
    if (files_.size() == 0) return absl::NotFoundError("no file below the data roots");
    summary_.files = static_cast<std::int64_t>(files_.size());
    const int queue = OpenQueue();
    summary_.privileged = queue >= 0;
    timespec boot = {};
    clock_gettime(CLOCK_BOOTTIME, &boot);
    begin_ticks_ = boot.tv_sec * sysconf(_SC_CLK_TCK) + boot.tv_nsec * sysconf(_SC_CLK_TCK) / 1'000'000'000;
    Snapshot();  // what is open already
    const absl::Time end = absl::Now() + options_.time_max;
    while (!stop() && absl::Now() < end && JobRuns()) {
      if (queue < 0) {
        absl::SleepFor(absl::Milliseconds(kPollMs));
        Snapshot();
        continue;
      }
      pollfd waiting = {.fd = queue, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, kPollMs) > 0) Drain(queue);
    }
    if (queue >= 0) {
      Drain(queue);
      close(queue);
    }
    if (strangers_ > 0) {
      for (auto& [key, image] : images_) Write(image, absl::StrCat("l ", strangers_));
    }
    summary_.processes = static_cast<std::int64_t>(images_.size());
    return summary_;
  }

 private:
  struct Image {
    std::ofstream out;
    std::set<FileKey> seen;
  };

  // -1: not allowed here.
  int OpenQueue() {
    unsigned flags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK;
    if (!options_.bounded_queue) flags |= FAN_UNLIMITED_QUEUE;
    const int queue = fanotify_init(flags, O_RDONLY | O_LARGEFILE | O_CLOEXEC | O_NOATIME);
    if (queue < 0) return -1;
    for (const std::string& root : options_.roots) {
      if (fanotify_mark(queue, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN, AT_FDCWD, root.c_str()) == 0) continue;
      close(queue);
      return -1;
    }
    return queue;
  }

  void Drain(int queue) {
    alignas(fanotify_event_metadata) char buffer[1 << 16];
    for (;;) {
      ssize_t size = read(queue, buffer, sizeof(buffer));
      if (size <= 0) return;
      auto* event = reinterpret_cast<fanotify_event_metadata*>(buffer);
      for (; FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
        if ((event->mask & FAN_Q_OVERFLOW) != 0) Overflow();
        if (event->fd < 0) continue;
        struct stat file;
        if (event->pid != getpid() && fstat(event->fd, &file) == 0) Opened(event->pid, file);
        close(event->fd);
      }
    }
  }

  // The kernel dropped events: of whom, nobody knows.
  void Overflow() {
    summary_.overflow = true;
    for (auto& [key, image] : images_) Write(image, "l 1");
  }

  // What the job's processes hold open now.
  void Snapshot() {
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return;
    while (dirent* entry = readdir(processes)) {
      auto pid = ParseInt(entry->d_name);
      if (!pid || !IsOfJob(static_cast<int>(*pid))) continue;
      const std::string folder = absl::StrCat("/proc/", *pid, "/fd");
      (void)PosixFileSystem().List(folder, [&](const DirectoryEntry& fd) {
        struct stat file;
        if (stat(JoinPath(folder, fd.name).c_str(), &file) == 0) Opened(static_cast<int>(*pid), file);
      });
    }
    closedir(processes);
  }

  // Nearest first, with the process itself.
  static std::vector<std::pair<int, std::int64_t>> Ancestry(int pid) {
    std::vector<std::pair<int, std::int64_t>> out;
    for (int i = 0; i < kAncestorsMax && pid > 0; ++i) {
      auto stat = StatOf(pid);
      if (!stat) break;
      out.emplace_back(pid, stat->start);
      pid = stat->parent;
    }
    return out;
  }

  bool IsOfJob(int pid) {
    for (const auto& one : Ancestry(pid)) {
      if (roots_.contains(one)) return true;
    }
    return false;
  }

  bool JobRuns() const {
    for (const auto& [pid, start] : roots_) {
      auto stat = StatOf(pid);
      if (stat && stat->start == start) return true;
    }
    return false;
  }

  void Opened(int pid, const struct stat& file) {
    const std::string* path = files_.Find(file);
    if (path == nullptr) return;
    Image* image = ImageOf(pid);
    if (image == nullptr) return;
    if (!image->seen.insert({static_cast<std::uint64_t>(file.st_dev), static_cast<std::uint64_t>(file.st_ino)}).second)
      return;
    Write(*image, absl::StrCat("o ", NowNs(), " ", *path));
    ++summary_.opens;
  }

  Image* ImageOf(int pid) {
    if (auto known = by_pid_.find(pid); known != by_pid_.end()) {
      auto stat = StatOf(pid);
      // A process that has ended is told by what was seen of it.
      if (!stat || stat->start == known->second.second) return &images_.at(known->second);
    }
    const auto ancestry = Ancestry(pid);
    const bool ours =
        std::any_of(ancestry.begin(), ancestry.end(), [&](const auto& one) { return roots_.contains(one); });
    if (!ours) {
      // Gone before it could be looked at: whether it was of the job is not known.
      if (ancestry.empty()) ++strangers_;
      return nullptr;
    }
    by_pid_[pid] = ancestry[0];
    Image& image = images_[ancestry[0]];
    image.out.open(absl::StrCat(options_.folder, "/", host_, "-", pid, "-", ancestry[0].second, "-attached.ptrace"),
                   std::ios::binary | std::ios::app);
    WriteHeader(image, pid, ancestry);
    return &image;
  }

  void WriteHeader(Image& image, int pid, const std::vector<std::pair<int, std::int64_t>>& ancestry) {
    const int parent = ancestry.size() > 1 ? ancestry[1].first : 0;
    Write(image, absl::StrCat("paritect-trace 1 ", pid, " ", parent, " ", ancestry[0].second));
    Write(image, absl::StrCat("h ", host_));
    for (std::size_t i = 1; i < ancestry.size(); ++i) {
      Write(image, absl::StrCat("a ", ancestry[i].first, " ", ancestry[i].second));
    }
    auto executable = PosixFileSystem().ReadLink(absl::StrCat("/proc/", pid, "/exe"));
    if (executable.ok()) Write(image, absl::StrCat("x ", *executable));
    // What Python's spawn method starts is told by its arguments; whether another program was forked is not known.
    if (absl::StrContains(ReadProc(pid, "cmdline"), "--multiprocessing-fork")) Write(image, "b exec");
    const std::vector<std::string> variables = RankVariables(pid);
    for (const std::string& one : variables) Write(image, absl::StrCat("v ", one));
    Write(image, "m counts");
    // A launcher that was there is none of the rank; a rank that was there may have read, by workers that are gone.
    const bool before = std::any_of(ancestry.begin(), ancestry.end(), [&](const auto& one) {
      return one.second <= begin_ticks_ && InJob(one, ancestry) &&
             (!roots_.contains(one) || RankVariables(one.first) == variables);
    });
    if (before) Write(image, "j before");
    if (summary_.overflow) Write(image, "l 1");
  }

  // Whether the ancestor is below or at a process of the job.
  bool InJob(const std::pair<int, std::int64_t>& one, const std::vector<std::pair<int, std::int64_t>>& ancestry) const {
    const auto at = std::find(ancestry.begin(), ancestry.end(), one);
    return std::any_of(at, ancestry.end(), [&](const auto& above) { return roots_.contains(above); });
  }

  // What tells the process its place, as it was when the program began.
  static std::vector<std::string> RankVariables(int pid) {
    std::vector<std::string> out;
    const std::string environment = ReadProc(pid, "environ");
    for (absl::string_view one : absl::StrSplit(environment, '\0')) {
      const absl::string_view name = one.substr(0, one.find('='));
      if (name.size() == one.size() || one.size() > 100) continue;
      if (BuiltInLaunchers().Tells(name)) out.emplace_back(one);
    }
    return out;
  }

  static void Write(Image& image, const Record& record) {
    image.out.write(record.data(), static_cast<std::streamsize>(record.size()));
    image.out.put('\0');
    image.out.flush();
  }

  const AttachOptions& options_;
  std::string host_;
  DataFiles files_;
  std::set<std::pair<int, std::int64_t>> roots_;
  std::map<std::pair<int, std::int64_t>, Image> images_;
  std::map<int, std::pair<int, std::int64_t>> by_pid_;
  std::int64_t begin_ticks_ = 0;
  std::int64_t strangers_ = 0;
  AttachSummary summary_;
};

}  // namespace

absl::StatusOr<AttachSummary> RecordAttached(const AttachOptions& options, absl::FunctionRef<bool()> stop) {
  return Recorder(options).Run(stop);
}

}  // namespace paritect
