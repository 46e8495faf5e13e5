// The host: CPUs, memory, limits of the control group, kernel, locale, clock. A shuffle buffer chosen from host
// memory is a fault that the checklist asks about, so MemTotal, the group's limit and the CPUs allowed stand side by
// side. Source: pre-tuning checklist, 预处理流程与基准一致 (按主机内存确定的 buffer).
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/live/live_parts.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // v1 says "no limit" as a number near 2^63

// One file that holds one value, as a setting.
void AddFile(LiveReport& report, absl::string_view key, const std::string& path, SettingsBuilder& builder) {
  const std::string value = FirstLine(report.fs(), path);
  if (value.empty()) return;
  if (v1::Setting* one = builder.AddText(key, value, 1)) one->set_origin(path);
}

void Append(const v1::SettingsDocument& from, v1::SettingsDocument& to) {
  for (const v1::Setting& setting : from.settings()) *to.add_settings() = setting;
}

// Where a hierarchy of control groups is mounted: "" is version 2, else the name of a version 1 controller.
std::string MountOf(FileSystem& fs, absl::string_view controller) {
  auto mounts = ReadNodeText(fs, "/proc/self/mountinfo");
  if (mounts.ok()) {
    for (absl::string_view line : absl::StrSplit(*mounts, '\n')) {
      const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
      const std::vector<absl::string_view> left = absl::StrSplit(halves[0], ' ');
      if (halves.size() != 2 || left.size() < 5) continue;
      const std::vector<absl::string_view> right = absl::StrSplit(halves[1], ' ');
      if (controller.empty() ? right[0] == "cgroup2" : right[0] == "cgroup" && right.size() > 2) {
        if (controller.empty()) return std::string(left[4]);
        for (absl::string_view option : absl::StrSplit(right[2], ',')) {
          if (option == controller) return std::string(left[4]);
        }
      }
    }
  }
  return controller.empty() ? "/sys/fs/cgroup" : StrCat("/sys/fs/cgroup/", controller);
}

// The group's path in that hierarchy, from /proc/PID/cgroup: "0::/a/b" or "4:memory:/a/b".
std::string GroupOf(absl::string_view groups, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (absl::string_view one : absl::StrSplit(parts[1], ',')) {
      if (one == controller) return std::string(parts[2]);
    }
  }
  return "";
}

struct Limit {
  std::string value, origin;
};

// The tightest value along the way from the group up to the root; `read` gives a number or -1.
template <typename ReadValue>
Limit Tightest(FileSystem& fs, const std::string& mount, std::string group, absl::string_view name, ReadValue read) {
  Limit limit;
  double least = static_cast<double>(kNoLimit);
  if (!absl::StartsWith(group, "/") || absl::StrContains(group, "/..")) group = "/";
  for (;;) {
    const std::string path = StrCat(mount, group == "/" ? "" : group, "/", name);
    const double value = read(FirstLine(fs, path), path);
    if (value >= 0 && value < least) {
      least = value;
      limit = {FormatDouble(value), path};
    }
    if (group == "/") return limit;
    group = std::string(DirName(group));
  }
}

double NumberOrNone(absl::string_view text) {
  const auto value = ParseInt(text);
  return value && *value >= 0 && *value < kNoLimit ? static_cast<double>(*value) : -1;
}

void AddLimits(LiveReport& report, const std::string& process, SettingsBuilder& builder) {
  FileSystem& fs = report.fs();
  const std::string groups = ReadNodeText(fs, StrCat(process, "/cgroup")).value_or("");
  const auto add = [&](absl::string_view key, const Limit& limit) {
    if (limit.value.empty()) return false;
    builder.AddText(key, limit.value, 1)->set_origin(limit.origin);
    return true;
  };
  const auto bytes = [](const std::string& text, const std::string&) { return NumberOrNone(text); };
  const auto quota2 = [](const std::string& text, const std::string&) {
    const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
    const double quota = NumberOrNone(words[0]);
    const double period = words.size() > 1 ? NumberOrNone(words[1]) : 100'000;
    return quota < 0 || period <= 0 ? -1 : quota / period;
  };
  const auto quota1 = [&fs](const std::string& text, const std::string& path) {
    const double quota = NumberOrNone(text);
    const double period = NumberOrNone(FirstLine(fs, StrCat(DirName(path), "/cpu.cfs_period_us")));
    return quota < 0 || period <= 0 ? -1 : quota / period;
  };
  const std::string two = MountOf(fs, "");
  const std::string group = GroupOf(groups, "");
  if (!add("host.memory_limit_bytes", Tightest(fs, two, group, "memory.max", bytes))) {
    add("host.memory_limit_bytes",
        Tightest(fs, MountOf(fs, "memory"), GroupOf(groups, "memory"), "memory.limit_in_bytes", bytes));
  }
  if (!add("host.cpu_quota", Tightest(fs, two, group, "cpu.max", quota2))) {
    add("host.cpu_quota", Tightest(fs, MountOf(fs, "cpu"), GroupOf(groups, "cpu"), "cpu.cfs_quota_us", quota1));
  }
}

void AddAllowedCpus(LiveReport& report, const std::string& process, SettingsBuilder& builder) {
  auto status = ReadNodeText(report.fs(), StrCat(process, "/status"));
  if (!status.ok()) return;
  ForEachLine(*status, [&](absl::string_view line, std::int64_t number) {
    if (!absl::ConsumePrefix(&line, "Cpus_allowed_list:")) return;
    builder.AddText("host.cpus_allowed", absl::StripAsciiWhitespace(line), number)
        ->set_origin(StrCat(process, "/status:", number));
  });
}

void AddSystem(LiveReport& report, SettingsBuilder& builder) {
  AddFile(report, "host.kernel", "/proc/sys/kernel/osrelease", builder);
  AddFile(report, "host.boot_id", "/proc/sys/kernel/random/boot_id", builder);
  AddFile(report, "host.address_randomisation", "/proc/sys/kernel/randomize_va_space", builder);
  AddFile(report, "host.transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled", builder);
  AddFile(report, "host.numa_nodes", "/sys/devices/system/node/online", builder);
  AddFile(report, "host.timezone", "/etc/timezone", builder);
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    auto text = ReadNodeText(report.fs(), path);
    if (!text.ok()) continue;
    ForEachLine(*text, [&](absl::string_view line, std::int64_t number) {
      if (!absl::ConsumePrefix(&line, "PRETTY_NAME=")) return;
      absl::ConsumePrefix(&line, "\"");
      absl::ConsumeSuffix(&line, "\"");
      builder.AddText("host.system", line, number)->set_origin(StrCat(path, ":", number));
    });
    break;
  }
  // The system's default; what a training really has is in its environment.
  for (const char* path : {"/etc/locale.conf", "/etc/default/locale"}) {
    auto text = ReadNodeText(report.fs(), path);
    if (!text.ok()) continue;
    ForEachLine(*text, [&](absl::string_view line, std::int64_t number) {
      if (!absl::StartsWith(line, "L")) return;
      builder.AddText("host.locale_default", line, number)->set_origin(StrCat(path, ":", number));
    });
    break;
  }
}

}  // namespace

void ReportHost(LiveReport& report, const ProcessSurvey& survey) {
  v1::SettingsDocument host;
  host.set_format("host");
  host.set_kind("host");
  for (const char* path : {"/proc/meminfo", "/proc/cpuinfo"}) {
    auto text = ReadNodeText(report.fs(), path, 16 << 20);
    if (!text.ok()) {
      report.FailedRead(path, text.status());
      continue;
    }
    auto document = FindSettingsFormat("host")->parse(*text, path);
    if (document.ok()) Append(*document, host);
  }
  // Limits of the training where there is one, else of this program: both stand in the same group when the agent runs
  // in the training's container.
  const std::string process = survey.ranks.empty() ? "/proc/self" : StrCat("/proc/", survey.ranks[0].pid);
  SettingsBuilder builder("host", "host", "live");
  AddLimits(report, process, builder);
  AddAllowedCpus(report, process, builder);
  AddSystem(report, builder);
  builder.Add("host.clock_unix_ms", StrCat(report.node().now_unix_ms), 1)->set_origin("clock of the node");
  Append(builder.Finish(), host);
  report.Document(std::move(host), "live:host");
}

}  // namespace paritect
