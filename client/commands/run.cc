// paritect run --run NAME [--plan FILE] -- CMD…: runs a training command and records what an audit asks about it: which
// files each process opened, arguments, environment, revision of the code, output. Ends with the command's own code.
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "client/audit_options.h"
#include "client/run/run_folder.h"
#include "client/run/wrapped_command.h"
#include "client/verbs.h"
#include "common/arguments.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/bundle.h"

extern char** environ;

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect run";
constexpr absl::string_view kSummary =
    "run a training command and record its file opens, environment, arguments, output";
constexpr absl::string_view kLibrary = "libparitect-trace.so";

struct RunOptions {
  std::string run;
  std::string plan;
  std::string folder = "paritect-runs";
  std::string output;
  std::vector<std::string> data;
  bool no_trace = false;
  std::vector<std::string> command;
};

// Where the build or the package puts the recorder. "": it is not here.
std::string TraceLibrary(CommandEnv& env) {
  std::vector<std::string> places;
  if (std::string stated = env.getenv("PARITECT_TRACE_LIBRARY"); !stated.empty()) places.push_back(stated);
  if (auto self = env.fs.ReadLink("/proc/self/exe"); self.ok()) {
    const std::string folder(DirName(*self));
    places.push_back(absl::StrCat(folder, "/", kLibrary));
    places.push_back(absl::StrCat(folder, "/../lib/paritect/", kLibrary));
  }
  for (const std::string& place : places) {
    if (env.fs.Stat(place).ok()) return place;
  }
  return "";
}

// The environment of the command: the caller's, with the recorder added.
std::vector<std::string> CommandEnvironment(const std::string& library, const std::string& trace,
                                            const std::vector<std::string>& roots) {
  std::vector<std::string> out;
  std::string preload;
  for (char** one = environ; *one != nullptr; ++one) {
    const absl::string_view text = *one;
    if (absl::StartsWith(text, "PARITECT_TRACE_DIR=") || absl::StartsWith(text, "PARITECT_TRACE_ROOTS=")) continue;
    if (absl::StartsWith(text, "LD_PRELOAD=") && !library.empty()) {
      preload = std::string(text.substr(11));
    } else {
      out.emplace_back(text);
    }
  }
  if (library.empty()) return out;
  // A library that the user preloads stays the first.
  out.push_back(absl::StrCat("LD_PRELOAD=", preload, preload.empty() ? "" : ":", library));
  out.push_back(absl::StrCat("PARITECT_TRACE_DIR=", trace));
  const bool writable = !roots.empty() && std::none_of(roots.begin(), roots.end(), [](const std::string& root) {
    return absl::StrContains(root, ':');
  });
  if (writable) out.push_back(absl::StrCat("PARITECT_TRACE_ROOTS=", absl::StrJoin(roots, ":")));
  return out;
}

// The whole plan but its data sets: hashing them is not the business of a job that has just ended.
absl::Status WriteBundle(CommandEnv& env, const RunOptions& o, const v1::Plan& asked, const std::string& folder,
                         const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadPlan(env.fs, folder, env.host_name));
  v1::Plan own = asked;
  own.clear_datasets();
  const CollectorEnv collector_env = {
      .fs = env.fs, .rules = env.rules, .for_bundle = true, .live = env.live, .live_processes = false};
  v1::Bundle bundle = CollectPlan(collector_env, plan);
  if (!o.plan.empty()) {
    v1::Bundle rest = CollectPlan(collector_env, own);
    for (v1::Evidence& evidence : *rest.mutable_evidence()) *bundle.add_evidence() = std::move(evidence);
    *bundle.mutable_plan() = asked.info();
    bundle.mutable_plan()->set_run(o.run);
  }
  bundle.set_collected_by(absl::StrCat("paritect ", kProgramVersion));
  bundle.set_collected_at_unix_ms(env.now_unix_ms());
  PARITECT_ASSIGN_OR_RETURN(const std::string bytes, SerializeBundle(bundle));
  return WriteFileAtomically(file, bytes);
}

absl::StatusOr<v1::Plan> AskedPlan(CommandEnv& env, const RunOptions& o) {
  v1::Plan plan;
  if (!o.plan.empty()) {
    PARITECT_ASSIGN_OR_RETURN(plan, LoadPlan(env.fs, o.plan, env.host_name));
  }
  if (plan.info().node().empty()) plan.mutable_info()->set_node(env.host_name);
  return plan;
}

ExitCode RunAndRecord(CommandEnv& env, const RunOptions& o) {
  const auto fail = [&env](const absl::Status& status) { return UsageError(env, kName, status.message()); };
  auto plan = AskedPlan(env, o);
  if (!plan.ok()) return fail(plan.status());
  const std::string library = o.no_trace ? "" : TraceLibrary(env);
  // The loader takes blanks and colons for separators.
  const bool traced = !library.empty() && library.find_first_of(" :") == std::string::npos;
  if (!traced && !o.no_trace) {
    env.err << "paritect run: warning: " << kLibrary << " is not beside this program: file opens are not recorded\n";
  }
  RunRequest request = {.run = o.run,
                        .folder = JoinPath(env.working_directory, o.folder),
                        .plan = *plan,
                        .traced = traced,
                        .words = o.command};
  for (char** one = environ; *one != nullptr; ++one) request.environment.emplace_back(*one);
  auto folder = MakeRunFolder(env, request);
  if (!folder.ok()) return fail(folder.status());
  WrappedCommand command = {.words = o.command, .output_path = absl::StrCat(*folder, "/output.log")};
  command.environment =
      CommandEnvironment(traced ? library : "", absl::StrCat(*folder, "/trace"), DataRoots(env, *plan, o.data));
  env.out.flush();
  env.err.flush();
  auto end = RunWrapped(command);
  if (!end.ok()) return fail(end.status());
  if (!end->failure.empty()) {
    env.err << "paritect run: " << DisplayBytes(o.command[0]) << ": " << end->failure << "\n";
    return static_cast<ExitCode>(end->code);
  }
  if (!end->output_whole) {
    env.err << "paritect run: note: the output is still being written, or could not be kept; " << DisplayBytes(*folder)
            << "/output.log may lack its end\n";
  }
  const std::string file = o.output.empty() ? absl::StrCat(*folder, ".pbundle") : o.output;
  if (auto written = WriteBundle(env, o, *plan, *folder, file); written.ok()) {
    env.err << "paritect run: recorded in " << DisplayBytes(file) << "\n";
  } else {
    env.err << "paritect run: no bundle was made: " << written.message() << "; " << DisplayBytes(*folder)
            << " holds what was recorded\n";
  }
  return static_cast<ExitCode>(end->code);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RunOptions o;
  const auto mark = std::find(args.begin(), args.end(), "--");
  const std::vector<std::string> own(args.begin(), mark);
  if (mark != args.end()) o.command.assign(mark + 1, args.end());
  Arguments arguments(kName, kSummary);
  arguments.Text("--run", o.run, "name of the training run");
  arguments.Text("--plan", o.plan, "plan whose data sets, logs and settings belong to the run");
  arguments.Texts("--data", o.data, "folder of data whose opens are recorded (with those of the plan's data sets)");
  arguments.Text("--dir", o.folder, "folder for what is recorded (default: paritect-runs)");
  arguments.Text("-o,--output", o.output, "evidence bundle to write (default: in --dir)");
  arguments.Flag("--no-trace", o.no_trace, "do not record file opens");
  auto parsed = arguments.Parse(own);
  if (!parsed.ok()) return UsageError(env, kName, parsed.status().message());
  if (!*parsed) {
    env.out << arguments.help();
    return kExitOk;
  }
  if (o.run.empty()) return UsageError(env, kName, "--run NAME is missing");
  if (o.command.empty()) return UsageError(env, kName, "no command: paritect run --run NAME -- CMD…");
  return RunAndRecord(env, o);
}

}  // namespace

extern const Command kRunCommand;
const Command kRunCommand = {"run", kSummary, &Run};

}  // namespace paritect
