// What the ranks of the training show of themselves: environment as at exec, command line, devices, libraries.
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/live/live_parts.h"
#include "agent/redaction.h"
#include "common/digest.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kScriptBytesMax = 4 << 20;
constexpr std::size_t kProblemsShown = 20;

// The first rank's environment stands in full; of the others on the node only what differs from it, so that eight ranks
// are not told eight times.
void ReportEnvironment(LiveReport& report, const TrainingProcess& process, const TrainingProcess& first) {
  const std::string label = StrCat("/proc/", process.pid, "/environ");
  // A program that sets its own title (setproctitle) writes over it.
  if (process.environment.empty()) return report.Failed("live_environment_overwritten", label);
  auto document = FindSettingsFormat("environment")->parse(process.environment_text, label);
  if (!document.ok()) return report.FailedRead(label, document.status());
  document->set_kind("environment");
  if (process.pid != first.pid && !first.environment.empty()) {
    v1::SettingsDocument own = *document;
    own.clear_settings();
    for (const v1::Setting& setting : document->settings()) {
      auto same = first.environment.find(setting.raw_key());
      if (same == first.environment.end() || same->second != process.Variable(setting.raw_key())) {
        *own.add_settings() = setting;
      }
    }
    std::vector<std::string> unset;
    for (const auto& [name, value] : first.environment) {
      if (!process.environment.contains(name)) unset.push_back(name);
    }
    v1::Note& note = *own.add_notes();
    note.set_kind("as_first_rank");
    note.set_message(StrCat("the other variables are as in /proc/", first.pid,
                            "/environ; unset here: ", unset.empty() ? "none" : absl::StrJoin(unset, ", ")));
    *document = std::move(own);
  }
  report.Document(*std::move(document), label, process.rank);
}

// As a shell would have to be told it, for the reader of launch scripts.
std::string QuotedCommand(absl::Span<const std::string> words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    std::string quoted = word;
    std::size_t at = 0;
    while ((at = quoted.find('\'', at)) != std::string::npos) {
      quoted.replace(at, 1, "'\\''");
      at += 4;
    }
    // An option keeps its bare form, which is what the reader knows options by.
    const bool bare = !word.empty() && absl::c_all_of(word, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./=:,+@%", c);
    });
    absl::StrAppend(out, bare ? word : StrCat("'", quoted, "'"));
  });
}

void ReportArguments(LiveReport& report, const TrainingProcess& process, std::optional<int> rank) {
  const std::string label = StrCat("/proc/", process.pid, "/cmdline");
  const std::vector<std::string> words = WithoutSecrets(process.words);
  auto document = FindSettingsFormat("launch-script")->parse(StrCat(QuotedCommand(words), "\n"), label);
  if (!document.ok()) return;
  for (v1::Setting& setting : *document->mutable_settings()) {
    // Masked before it was read: not even its hash may stand for it.
    if (setting.raw_value() != "***") continue;
    setting.clear_value();
    setting.clear_raw_value();
  }
  report.Document(*std::move(document), label, rank);
}

// The entry script: the first word that is a Python file, as the process sees it.
std::string ScriptOf(const TrainingProcess& process) {
  for (const std::string& word : process.words) {
    if (absl::EndsWith(word, ".py")) return JoinPath(process.folder, word);
  }
  return "";
}

int CountList(absl::string_view list) {
  int count = 0;
  for (absl::string_view range : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    const auto first = ParseInt(ends[0]);
    const auto last = ParseInt(ends.back());
    if (first && last && *last >= *first) count += static_cast<int>(*last - *first + 1);
  }
  return count;
}

void ReportProcess(LiveReport& report, const TrainingProcess& process) {
  const std::string folder = StrCat("/proc/", process.pid);
  SettingsBuilder builder("process", "process", folder);
  const auto add = [&](absl::string_view key, const std::string& value, absl::string_view from) {
    if (value.empty()) return;
    if (v1::Setting* one = builder.AddText(key, WithoutSecrets(value), 1)) one->set_origin(StrCat(folder, "/", from));
  };
  add("process.pid", StrCat(process.pid), "");
  add("process.user", StrCat(process.user), "status");
  add("process.executable", process.executable, "exe");
  add("process.folder", process.folder, "cwd");
  add("process.command", absl::StrJoin(WithoutSecrets(process.words), " "), "cmdline");
  add("process.devices", absl::StrJoin(process.devices, ","), "fd");
  add("process.cpus_allowed", StrCat(CountList(process.cpus_allowed)), "status");
  add("process.container", process.container, "ns/mnt");
  std::vector<std::string> collectives;
  for (const std::string& library : process.libraries) {
    for (absl::string_view name : {"libhccl.so", "libnccl.so", "libgloo"}) {
      if (absl::StartsWith(BaseName(library), name)) collectives.push_back(library);
    }
  }
  add("process.collective_libraries", absl::StrJoin(collectives, ","), "maps");
  if (const std::string script = ScriptOf(process); !script.empty()) {
    auto text = ReadNodeText(*FilesOf(report.fs(), process), script, kScriptBytesMax);
    add("process.script", script, "cmdline");
    if (text.ok()) add("process.script_sha256", ToHex(Sha256(*text)), "cmdline");
  }
  for (const std::string& library : process.deleted_libraries) {
    builder.AddNote("library_exchanged", 0, StrCat(library, " was removed or exchanged on disk while it runs"));
  }
  report.Document(builder.Finish(), folder, process.rank);
}

// Where the training itself was read, what other users run beside it is said and holds nothing up.
void ReportUnread(LiveReport& report, const ProcessSurvey& survey) {
  if (survey.hidden && survey.ranks.empty()) report.Failed("live_processes_hidden", "/proc");
  std::size_t shown = 0;
  for (const UnreadProcess& one : survey.unread) {
    const bool beside = !survey.ranks.empty() && survey.ranks[0].user != one.user;
    std::string source = StrCat("/proc/", one.pid);
    std::string why = StrCat("user ", one.user, ": ", one.command, ": ", one.why);
    if (++shown > kProblemsShown) {
      source = "/proc";
      why = StrCat(survey.unread.size() - kProblemsShown, " more");
    }
    beside ? report.Absent("live_process_unreadable", source, why)
           : report.Failed("live_process_unreadable", source, why);
    if (shown > kProblemsShown) return;
  }
}

}  // namespace

void ReportProcesses(LiveReport& report, const ProcessSurvey& survey) {
  ReportUnread(report, survey);
  const std::string others = absl::StrJoin(survey.others, "; ");
  if (survey.ambiguous) return report.Failed("live_several_trainings", "/proc", others);
  if (survey.ranks.empty()) {
    if (survey.unread.empty()) report.Absent("live_no_training", "/proc");
    return;
  }
  if (!survey.others.empty()) report.Absent("live_other_training", "/proc", others);
  // The launcher's command holds the script's arguments too; without one, the ranks' own, each form once.
  if (survey.launcher) ReportArguments(report, *survey.launcher, std::nullopt);
  std::set<std::vector<std::string>> told;
  const auto disagrees = absl::c_find_if(survey.ranks, [](const auto& one) { return !one.rank_disagreement.empty(); });
  if (disagrees != survey.ranks.end()) {
    report.Absent("live_rank_variables", StrCat("/proc/", disagrees->pid, "/environ"), disagrees->rank_disagreement);
  }
  for (const TrainingProcess& process : survey.ranks) {
    ReportEnvironment(report, process, survey.ranks[0]);
    ReportProcess(report, process);
    if (!survey.launcher && told.insert(process.words).second) ReportArguments(report, process, process.rank);
  }
}

}  // namespace paritect
