// paritect run --run NAME [--plan FILE] -- CMD…: runs a training command and records what an audit asks about it: which
// files each process opened, what Python trainings did (docs/observer.md), arguments, environment, revision of the
// code, output. Ends with the command's own code.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "agent/collectors/shard_trace.h"
#include "agent/datasets/digest_cache.h"
#include "client/report/audit_options.h"
#include "client/run/first_step.h"
#include "client/run/live_handover.h"
#include "client/run/recorders.h"
#include "client/run/run_folder.h"
#include "client/run/wrapped_command.h"
#include "client/verbs.h"
#include "common/arguments.h"
#include "common/local_socket.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/bundle.h"
#include "formats/plan_identity.h"
#include "report/terminal.h"

extern char** environ;

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect run";
constexpr absl::string_view kSummary =
    "run a training command and record what it does, its file opens, environment, arguments, output";
constexpr absl::Duration kAgentPatience = absl::Seconds(120);
constexpr absl::Duration kFirstHandover = absl::Seconds(60);

struct RunOptions {
  std::string run;
  std::string plan;
  std::string folder = "paritect-runs";
  std::string output;
  std::vector<std::string> data;
  bool no_trace = false;
  std::string observe = std::string(kObserveFull);
  bool no_observe = false;
  bool no_data = false;
  std::string agent;
  std::vector<std::string> command;
};

// The same command in the same folder is that part of the run again.
v1::PlanIdentity IdentityOf(CommandEnv& env, const RunOptions& o, const RunRequest& request) {
  v1::PlanIdentity identity;
  std::vector<std::string> parts = {"command", env.working_directory,
                                    o.plan.empty() ? "" : JoinPath(env.working_directory, o.plan)};
  parts.insert(parts.end(), request.words.begin(), request.words.end());
  identity.set_key(PlanKey(parts));
  identity.set_began_unix_ms(request.began_unix_ms);
  std::int32_t rank = 0;
  if (absl::SimpleAtoi(RankOfEnvironment(request.environment), &rank)) identity.set_rank(rank);
  return identity;
}

// What the folder and the plan name, as one node of the run. Of ranks that are wrapped one by one only the first of a
// node speaks for the node's data sets.
absl::StatusOr<v1::Bundle> MakeBundle(CommandEnv& env, const RunOptions& o, const RunRequest& request,
                                      const std::string& folder) {
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadPlan(env.fs, folder, env.host_name));
  const CollectorEnv collector_env = {
      .fs = env.fs,
      .rules = env.rules,
      .for_bundle = true,
      .in_clear = {request.plan.in_clear().begin(), request.plan.in_clear().end()},
      .live = env.live,
      .live_processes = false,
      .digest_cache = UserCacheFolder(env.getenv("XDG_CACHE_HOME"), env.getenv("HOME"))};
  const bool with_data = !o.no_data && IsFirstOfNode(request.environment);
  if (with_data && !plan.datasets().empty()) {
    env.err << "paritect run: reading the plan's data sets (--no-data leaves them out)\n";
    env.err.flush();
  }
  v1::Plan collected = plan;
  if (!with_data) collected.clear_datasets();
  collected.clear_shards();
  v1::Bundle bundle = CollectPlan(collector_env, collected);
  for (const v1::ShardSource& source : plan.shards()) {
    CollectShardTrace(collector_env, plan, source,
                      [&](v1::Evidence evidence) { *bundle.add_evidence() = std::move(evidence); });
  }
  if (!o.plan.empty()) {
    v1::Plan own = request.plan;
    own.clear_datasets();  // they stand in the folder's plan
    v1::Bundle rest = CollectPlan(collector_env, own);
    for (v1::Evidence& evidence : *rest.mutable_evidence()) *bundle.add_evidence() = std::move(evidence);
    *bundle.mutable_plan() = request.plan.info();
    bundle.mutable_plan()->set_run(o.run);
  }
  bundle.mutable_plan()->set_plan_file(absl::StrCat(folder, "/plan.yaml"));  // its paths start there
  *bundle.mutable_plan()->mutable_identity() = IdentityOf(env, o, request);
  bundle.set_collected_by(absl::StrCat("paritect ", kProgramVersion));
  bundle.set_collected_at_unix_ms(env.now_unix_ms());
  return bundle;
}

// Nothing of the data was opened: said now, and not when an audit asks.
bool SawNoOpens(const v1::Bundle& bundle) {
  return std::none_of(bundle.evidence().begin(), bundle.evidence().end(), [](const v1::Evidence& evidence) {
    return evidence.kind() == v1::EVIDENCE_KIND_SHARDS && evidence.outcome() == v1::OUTCOME_COLLECTED;
  });
}

// Sockets on which this machine's agent may listen, the nearest first.
std::vector<std::string> AgentSockets(CommandEnv& env, const RunOptions& o) {
  if (!o.agent.empty()) return {JoinPath(env.working_directory, o.agent)};
  if (std::string stated = env.getenv("PARITECT_AGENT"); !stated.empty()) return {stated};
  std::vector<std::string> places;
  const std::string home = env.getenv("HOME"), state = env.getenv("XDG_STATE_HOME");
  if (!state.empty()) places.push_back(absl::StrCat(state, "/paritect-agent/agent.sock"));
  if (!home.empty()) places.push_back(absl::StrCat(home, "/.local/state/paritect-agent/agent.sock"));
  places.push_back("/run/paritect-agent/agent.sock");
  places.push_back("/var/lib/paritect-agent/agent.sock");
  return places;
}

// True: the agent has the run, and the server will have it.
bool HandToAgent(CommandEnv& env, const RunOptions& o, const std::string& bytes) {
  if (o.agent == "none") return false;
  const bool stated = !o.agent.empty() || !env.getenv("PARITECT_AGENT").empty();
  for (const std::string& socket : AgentSockets(env, o)) {
    auto answer = AskLocal(socket, bytes, kAgentPatience);
    if (answer.ok() && absl::StartsWith(*answer, "ok ")) {
      env.err << "paritect run: run " << DisplayBytes(o.run) << " is registered with the agent at "
              << DisplayBytes(socket) << "\n";
      return true;
    }
    // Places that nobody named may well be empty, or another user's.
    const bool silent = !stated && (absl::IsNotFound(answer.status()) || absl::IsPermissionDenied(answer.status()) ||
                                    absl::IsInvalidArgument(answer.status()));
    if (silent) continue;
    const std::string why = answer.ok() ? *answer : absl::StrCat(answer.status().message(), "\n");
    env.err << "paritect run: the agent at " << DisplayBytes(socket) << " did not take the run: " << TerminalSafe(why)
            << "; `paritect import` brings the bundle to a server\n";
    return false;
  }
  return false;
}

// `--data` is a folder that somebody typed; the plan's may be made by the command itself.
absl::Status CheckData(CommandEnv& env, const RunOptions& o, const v1::Plan& plan) {
  for (const std::string& path : o.data) {
    if (env.fs.Stat(JoinPath(env.working_directory, path)).ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--data ", DisplayBytes(path), ": not there"));
  }
  for (const v1::DatasetSource& source : plan.datasets()) {
    if (source.root().empty() || env.fs.Stat(ResolvePath(plan, source.root())).ok()) continue;
    env.err << "paritect run: warning: data set " << DisplayBytes(source.name()) << ": "
            << DisplayBytes(ResolvePath(plan, source.root()))
            << " is not there; nothing of it is recorded unless the command makes it\n";
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Plan> AskedPlan(CommandEnv& env, const RunOptions& o) {
  v1::Plan plan;
  if (!o.plan.empty()) {
    PARITECT_ASSIGN_OR_RETURN(plan, LoadPlan(env.fs, o.plan, env.host_name));
  }
  if (plan.info().node().empty()) plan.mutable_info()->set_node(env.host_name);
  plan.set_base(JoinPath(env.working_directory, plan.base()));
  return plan;
}

void Keep(CommandEnv& env, const RunOptions& o, const RunRequest& request, const std::string& folder) {
  const std::string file = o.output.empty() ? absl::StrCat(folder, ".pbundle") : o.output;
  auto bundle = MakeBundle(env, o, request, folder);
  absl::StatusOr<std::string> bytes = bundle.ok() ? SerializeBundle(*bundle) : bundle.status();
  const absl::Status written = bytes.ok() ? WriteFileAtomically(file, *bytes) : bytes.status();
  if (!written.ok()) {
    env.err << "paritect run: no bundle was made: " << written.message() << "; " << DisplayBytes(folder)
            << " holds what was recorded\n";
  } else {
    env.err << "paritect run: recorded in " << DisplayBytes(file) << "\n";
  }
  const bool asked = !o.data.empty() || !request.plan.datasets().empty();
  if (bundle.ok() && request.traced && asked && SawNoOpens(*bundle)) {
    env.err << "paritect run: warning: no file of the data was opened, as far as the recorder saw (a static program, "
               "an object store, or another folder?)\n";
  }
  if (bytes.ok()) HandToAgent(env, o, *bytes);
}

// What was recorded so far, without the data sets: the agent gets the run while it trains, and the whole when it ends.
// Silent: what cannot be handed over now is told then.
void HandOverEarly(CommandEnv& env, const RunOptions& o, const RunRequest& request, const std::string& folder) {
  RunOptions early = o;
  early.no_data = true;
  auto bundle = MakeBundle(env, early, request, folder);
  const auto bytes = bundle.ok() ? SerializeBundle(*bundle) : bundle.status();
  if (!bytes.ok()) return;
  for (const std::string& socket : AgentSockets(env, o)) {
    if (AskLocal(socket, *bytes, kAgentPatience).ok()) return;
  }
}

// Whether an agent of this machine may take the run.
bool AgentIsThere(CommandEnv& env, const RunOptions& o) {
  if (o.agent == "none") return false;
  const std::vector<std::string> sockets = AgentSockets(env, o);
  return std::any_of(sockets.begin(), sockets.end(), [&](const std::string& one) { return env.fs.Stat(one).ok(); });
}

// What there is of the recorders that were asked for, and a word on what there is not.
Recorders RecordersOf(CommandEnv& env, const RunOptions& o) {
  Recorders recorders = FindRecorders(env);
  recorders.level = o.observe;
  recorders.traced = !o.no_trace && !recorders.library.empty();
  if (!recorders.traced && !o.no_trace) {
    env.err << "paritect run: warning: " << kTraceLibrary
            << " is not beside this program: file opens are not recorded\n";
  }
  if (recorders.observer.empty() && !o.no_observe) {
    env.err
        << "paritect run: warning: the observer is not beside this program: what happens inside the training is not "
           "recorded\n";
  }
  if (o.no_observe) recorders.observer.clear();
  return recorders;
}

ExitCode RunAndRecord(CommandEnv& env, const RunOptions& o) {
  const auto fail = [&env](const absl::Status& status) { return UsageError(env, kName, status.message()); };
  auto plan = AskedPlan(env, o);
  if (!plan.ok()) return fail(plan.status());
  if (absl::Status there = CheckData(env, o, *plan); !there.ok()) return fail(there);
  const Recorders recorders = RecordersOf(env, o);
  RunRequest request = {.run = o.run,
                        .folder = JoinPath(env.working_directory, o.folder),
                        .plan = *plan,
                        .traced = recorders.traced,
                        .observed = !recorders.observer.empty(),
                        .words = o.command,
                        .began_unix_ms = env.now_unix_ms()};
  for (char** one = environ; *one != nullptr; ++one) request.environment.emplace_back(*one);
  if (const std::string what = RankDisagreement(request.environment); !what.empty()) {
    env.err << "paritect run: warning: variables give different ranks: " << what << "\n";
  }
  auto folder = MakeRunFolder(env, request);
  if (!folder.ok()) return fail(folder.status());
  WrappedCommand command = {.words = o.command, .output_path = absl::StrCat(folder->path, "/output.log")};
  command.environment = CommandEnvironment(request.environment, recorders, {folder->trace, folder->observe},
                                           DataRoots(env, *plan, o.data));
  env.out.flush();
  env.err.flush();
  std::optional<LiveHandover> live;
  if (AgentIsThere(env, o)) {
    live.emplace(
        kFirstHandover, [&] { return request.observed && HoldsFirstStep(env.fs, folder->observe); },
        [&] { HandOverEarly(env, o, request, folder->path); });
  }
  auto end = RunWrapped(command);
  live.reset();
  if (!end.ok()) return fail(end.status());
  if (!end->failure.empty()) {
    env.err << "paritect run: " << DisplayBytes(o.command[0]) << ": " << end->failure << "\n";
    return static_cast<ExitCode>(end->code);
  }
  if (!end->output_whole) {
    env.err << "paritect run: note: the output is still being written, or could not be kept; "
            << DisplayBytes(folder->path) << "/output.log may lack its end\n";
  }
  Keep(env, o, request, folder->path);
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
  arguments.Text("--agent", o.agent,
                 "socket of this machine's agent, which gets the run for its server (default: where agents listen); "
                 "none: write the bundle alone");
  arguments.Flag("--no-data", o.no_data, "leave the plan's data sets out of the bundle: they are not read");
  arguments.Flag("--no-trace", o.no_trace, "do not record file opens");
  arguments.Text(
      "--observe", o.observe,
      "what is recorded inside Python trainings: full (default), or light: no fingerprints of weights and data");
  arguments.Flag("--no-observe", o.no_observe, "record nothing inside Python trainings");
  if (auto code = ParseOrAnswer(env, kName, arguments, own)) return *code;
  if (!IsObserveLevel(o.observe)) {
    return UsageError(env, kName, absl::StrCat("--observe=", DisplayBytes(o.observe), ": must be full or light"));
  }
  if (o.run.empty()) return UsageError(env, kName, "--run NAME is missing");
  if (o.command.empty()) return UsageError(env, kName, "no command: paritect run --run NAME -- CMD…");
  return RunAndRecord(env, o);
}

}  // namespace

extern const Command kRunCommand;
const Command kRunCommand = {"run", kSummary, &Run};

}  // namespace paritect
