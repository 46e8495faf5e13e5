// paritect attach --pid N | --slurm JOB: records the file opens of a job that already runs, until it ends, Ctrl-C or
// --for.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/collect.h"
#include "agent/datasets/digest_cache.h"
#include "agent/trace/attached_recorder.h"
#include "client/report/audit_options.h"
#include "client/run/run_folder.h"
#include "client/verbs.h"
#include "common/arguments.h"
#include "common/duration.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/bundle.h"
#include "rules/launchers.h"
#include "formats/plan_identity.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect attach";
constexpr absl::string_view kSummary = "record the file opens of a job that already runs (all of them as root)";

struct Options {
  std::vector<std::string> pids;
  std::string slurm;
  std::string run = "attached";
  std::string plan;
  std::vector<std::string> data;
  std::string folder = "paritect-runs";
  std::string output;
  std::string time;
  bool no_data = false;
  bool bounded_queue = false;
};

volatile std::sig_atomic_t interrupted = 0;
void Interrupt(int) {
  interrupted = 1;
}

// The processes on this node that the job's variable names.
std::vector<int> ProcessesOfSlurm(FileSystem& fs, const std::string& job) {
  std::vector<int> pids;
  (void)fs.List("/proc", [&](const DirectoryEntry& entry) {
    auto pid = ParseInt(entry.name);
    if (!pid) return;
    auto environment = ReadWholeFile(fs, absl::StrCat("/proc/", entry.name, "/environ"), 8 << 20);
    if (!environment.ok()) return;
    for (absl::string_view one : absl::StrSplit(*environment, '\0')) {
      const std::size_t equal = std::min(one.find('='), one.size());
      if (one.substr(equal) != absl::StrCat("=", job)) continue;
      if (BuiltInLaunchers().IsJobNumber(one.substr(0, equal))) pids.push_back(static_cast<int>(*pid));
    }
  });
  return pids;
}

absl::StatusOr<std::vector<int>> ProcessesOf(CommandEnv& env, const Options& o) {
  std::vector<int> pids;
  for (const std::string& text : o.pids) {
    auto pid = ParseInt(text);
    if (!pid || *pid < 1 || *pid > INT32_MAX)
      return absl::InvalidArgumentError(absl::StrCat("--pid ", text, ": no number"));
    pids.push_back(static_cast<int>(*pid));
  }
  if (!o.slurm.empty()) {
    for (int pid : ProcessesOfSlurm(env.fs, o.slurm)) pids.push_back(pid);
    if (pids.empty())
      return absl::InvalidArgumentError(absl::StrCat("no process of Slurm job ", o.slurm, " on this node"));
  }
  if (pids.empty()) return absl::InvalidArgumentError("--pid N or --slurm JOB is missing");
  return pids;
}

absl::Status WriteBundle(CommandEnv& env, const Options& o, const v1::Plan& asked, const std::string& trace,
                         const std::string& file) {
  v1::Plan plan = asked;
  plan.set_base(JoinPath(env.working_directory, asked.base()));
  if (o.no_data) plan.clear_datasets();
  plan.mutable_info()->set_run(o.run);
  plan.mutable_info()->set_role(v1::ROLE_RUN);
  plan.mutable_info()->mutable_identity()->set_key(PlanKey({"attach", trace}));  // each looked at what it saw
  for (int i = 0; i < std::max(1, asked.datasets_size()); ++i) {
    v1::ShardSource& source = *plan.add_shards();
    source.set_trace(trace);
    if (i < asked.datasets_size()) source.set_dataset(asked.datasets(i).name());
  }
  v1::Bundle bundle = CollectPlan({.fs = env.fs,
                                   .rules = env.rules,
                                   .for_bundle = true,
                                   .in_clear = {asked.in_clear().begin(), asked.in_clear().end()},
                                   .digest_cache = UserCacheFolder(env.getenv("XDG_CACHE_HOME"), env.getenv("HOME"))},
                                  plan);
  bundle.set_collected_by(absl::StrCat("paritect ", kProgramVersion));
  bundle.set_collected_at_unix_ms(env.now_unix_ms());
  PARITECT_ASSIGN_OR_RETURN(const std::string bytes, SerializeBundle(bundle));
  return WriteFileAtomically(file, bytes);
}

absl::StatusOr<AttachOptions> PrepareRecording(CommandEnv& env, const Options& o, const v1::Plan& plan) {
  for (const std::string& path : o.data) {
    if (env.fs.Stat(JoinPath(env.working_directory, path)).ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--data ", DisplayBytes(path), ": not there"));
  }
  AttachOptions attach;
  PARITECT_ASSIGN_OR_RETURN(attach.pids, ProcessesOf(env, o));
  attach.bounded_queue = o.bounded_queue;
  attach.roots = DataRoots(env, plan, o.data);
  if (attach.roots.empty()) {
    return absl::InvalidArgumentError("which files are data? give --plan with data sets, or --data DIR");
  }
  if (!o.time.empty()) {
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t seconds, ParseDuration(o.time));
    attach.time_max = absl::Seconds(seconds);
  }
  RunRequest request = {.run = o.run, .folder = JoinPath(env.working_directory, o.folder), .plan = plan};
  PARITECT_ASSIGN_OR_RETURN(const RunFolder folder, MakeRunFolder(env, request));
  attach.folder = absl::StrCat(folder.path, "/trace");  // it alone writes there
  return attach;
}

ExitCode Attach(CommandEnv& env, const Options& o) {
  const auto fail = [&env](const absl::Status& status) { return UsageError(env, kName, status.message()); };
  v1::Plan plan;
  if (!o.plan.empty()) {
    auto loaded = LoadPlan(env.fs, o.plan, env.host_name);
    if (!loaded.ok()) return fail(loaded.status());
    plan = *std::move(loaded);
  }
  if (plan.info().node().empty()) plan.mutable_info()->set_node(env.host_name);
  auto attach = PrepareRecording(env, o, plan);
  if (!attach.ok()) return fail(attach.status());
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, &Interrupt);
  env.err << "paritect attach: recording; Ctrl-C ends it\n";
  env.err.flush();
  auto summary = RecordAttached(*attach, [] { return interrupted != 0; });
  if (!summary.ok()) return fail(summary.status());
  const std::string file = o.output.empty() ? absl::StrCat(DirName(attach->folder), ".pbundle") : o.output;
  env.err << "paritect attach: " << summary->opens << " files of " << summary->files << " opened by "
          << summary->processes << " processes"
          << (summary->privileged ? "" : "; not as root: only what stayed open was seen")
          << (summary->overflow ? "; the kernel dropped events: the lists are incomplete" : "") << "\n";
  if (auto written = WriteBundle(env, o, plan, attach->folder, file); !written.ok()) return fail(written);
  env.err << "paritect attach: recorded in " << DisplayBytes(file) << "\n";
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  Options o;
  Arguments arguments(kName, kSummary);
  arguments.Texts("--pid", o.pids, "process of the job; its descendants belong to it");
  arguments.Text("--slurm", o.slurm, "Slurm job: its processes on this node");
  arguments.Text("--run", o.run, "name of the training run (default: attached)");
  arguments.Text("--plan", o.plan, "plan whose data sets are looked at");
  arguments.Texts("--data", o.data, "folder of data that is looked at");
  arguments.Text("--dir", o.folder, "folder for what is recorded (default: paritect-runs)");
  arguments.Text("-o,--output", o.output, "evidence bundle to write (default: in --dir)");
  arguments.Flag("--no-data", o.no_data, "leave the plan's data sets out of the bundle: they are not read");
  arguments.Flag("--bounded-queue", o.bounded_queue,
                 "keep to the kernel's limit of queued events; a full queue makes the lists incomplete");
  arguments.Text("--for", o.time, "how long (30s, 10m); default: until the job ends");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  return Attach(env, o);
}

}  // namespace

extern const Command kAttachCommand;
const Command kAttachCommand = {"attach", kSummary, &Run};

}  // namespace paritect
