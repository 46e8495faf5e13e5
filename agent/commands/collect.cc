// paritect-agent collect PLAN -o FILE.pbundle: one shot, no server. What could not be read is in the
// bundle as such and is named on standard error; only a wrong plan or a file that cannot be written is
// an error of the command itself.
#include "agent/collect.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/agent_command.h"
#include "agent/datasets/follow_up.h"
#include "agent/harmless.h"
#include "agent/redaction.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

constexpr absl::string_view kUsage = "PLAN -o FILE.pbundle [--jobs N] [--bwlimit 200M] [--no-cache] [--media]";
constexpr std::size_t kRecordFilesMax = 10'000;
constexpr std::uint64_t kRecordBytesMax = 4ull << 30;

struct CollectOptions {
  std::string plan;
  std::string output;
  int jobs = 0;
  std::uint64_t bytes_per_second = 0;
  bool no_cache = false;
  bool media = false;
  bool help = false;
};

// "--name VALUE" or "--name=VALUE": moves `at` on. nullopt: another argument.
absl::StatusOr<std::optional<std::string>> TakeValue(absl::string_view name, absl::Span<const std::string> args,
                                                     std::size_t& at) {
  absl::string_view arg = args[at];
  if (!absl::ConsumePrefix(&arg, name)) return std::nullopt;
  if (absl::ConsumePrefix(&arg, "=")) return std::string(arg);
  if (!arg.empty()) return std::nullopt;
  if (at + 1 == args.size()) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
  return args[++at];
}

// How the data sets are read. False: another argument.
absl::StatusOr<bool> TakeReading(absl::Span<const std::string> args, std::size_t& at, CollectOptions& options) {
  if (args[at] == "--no-cache" || args[at] == "--media") {
    (args[at] == "--media" ? options.media : options.no_cache) = true;
    return true;
  }
  PARITECT_ASSIGN_OR_RETURN(const auto jobs, TakeValue("--jobs", args, at));
  if (jobs) {
    if (!absl::SimpleAtoi(*jobs, &options.jobs) || options.jobs < 1 || options.jobs > 256) {
      return absl::InvalidArgumentError("--jobs must be 1 to 256");
    }
    return true;
  }
  PARITECT_ASSIGN_OR_RETURN(const auto limit, TakeValue("--bwlimit", args, at));
  if (!limit) return false;
  const auto bandwidth = ParseBandwidth(*limit);
  if (!bandwidth.ok()) return absl::InvalidArgumentError(absl::StrCat("--bwlimit: ", bandwidth.status().message()));
  options.bytes_per_second = *bandwidth;
  return true;
}

absl::StatusOr<CollectOptions> ParseOptions(absl::Span<const std::string> args) {
  CollectOptions options;
  bool only_names = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    std::string* slot = nullptr;
    if (!only_names) {
      PARITECT_ASSIGN_OR_RETURN(const bool taken, TakeReading(args, i, options));
      if (taken) continue;
    }
    if (!only_names && (arg == "-h" || arg == "--help")) {
      options.help = true;
    } else if (!only_names && arg == "--") {
      only_names = true;
    } else if (!only_names && (arg == "-o" || arg == "--output")) {
      if (i + 1 == args.size()) return absl::InvalidArgumentError(absl::StrCat(arg, " needs a file"));
      slot = &options.output;
      if (!slot->empty()) return absl::InvalidArgumentError("-o stands twice");
      *slot = args[++i];
    } else if (!only_names && absl::StartsWith(arg, "--output=")) {
      options.output = arg.substr(9);
    } else if (!only_names && arg.size() > 1 && arg[0] == '-') {
      return absl::InvalidArgumentError(absl::StrCat("no option '", arg, "'"));
    } else if (!options.plan.empty()) {
      return absl::InvalidArgumentError("one PLAN at a time");
    } else {
      options.plan = arg;
    }
  }
  if (options.help) return options;
  if (options.plan.empty()) return absl::InvalidArgumentError("PLAN is missing");
  if (options.output.empty()) return absl::InvalidArgumentError("-o FILE.pbundle is missing");
  return options;
}

// What was collected, in few words.
class Summary {
 public:
  explicit Summary(AgentEnv& env) : env_(env) {}

  void Add(const v1::Evidence& evidence) {
    ++all_;
    if (evidence.outcome() == v1::OUTCOME_COLLECTED) {
      ++collected_;
      return;
    }
    MessageArgs args;
    for (const auto& [name, value] : evidence.problem().args()) args.emplace_back(name, DisplayBytes(value));
    absl::StrAppend(&problems_, "not collected: ", env_.rules.messages.Say(evidence.problem().id(), args).en(), "\n");
  }

  void Tell(const std::string& file, const std::string& node) const {
    env_.err << problems_ << DisplayBytes(file) << ": " << collected_ << " of " << all_
             << " pieces of evidence collected on " << node << "\n";
  }

 private:
  AgentEnv& env_;
  int all_ = 0;
  int collected_ = 0;
  std::string problems_;
};

CollectorEnv CollectorEnvOf(AgentEnv& env, const CollectOptions& options, const v1::Plan& plan, FileSystem& fs) {
  // No key: whoever reads the bundle could not compare with another's hashes.
  CollectorEnv out = {.fs = fs, .rules = env.rules, .for_bundle = true, .live = env.live};
  out.in_clear = {plan.in_clear().begin(), plan.in_clear().end()};
  out.digest_cache = env.digest_cache;
  out.read_all = options.no_cache;
  out.past_cache = options.media;
  out.dataset_jobs = options.jobs;
  out.log_jobs = std::max(options.jobs, 1);
  return out;
}

// The bundle's bytes. A piece of evidence is bytes as soon as it is there: a list of a million files is small so.
absl::StatusOr<std::vector<std::string>> Collect(AgentEnv& env, const CollectOptions& options, const v1::Plan& plan,
                                    Summary& summary) {
  BandwidthLimit bandwidth(options.bytes_per_second);
  LimitedFileSystem limited(env.fs, bandwidth);
  FileSystem& fs = options.bytes_per_second > 0 ? static_cast<FileSystem&>(limited) : env.fs;
  v1::Bundle head;
  *head.mutable_plan() = plan.info();
  WithholdSecrets(*head.mutable_plan());
  head.set_collected_by(absl::StrCat("paritect-agent ", kProgramVersion));
  head.set_collected_at_unix_ms(env.now_unix_ms);
  BundleWriter writer(head);
  absl::Status kept;
  const auto one = [&](v1::Evidence evidence) {
    summary.Add(evidence);
    kept.Update(writer.Add(evidence));
  };
  const auto list = [&](v1::Evidence evidence, FilesOfList files) {
    // Nobody can ask later what an audit would ask at once.
    RecordLooks looks(fs, evidence.files(), kRecordFilesMax, kRecordBytesMax);
    summary.Add(evidence);
    kept.Update(writer.Add(evidence, [&](absl::FunctionRef<void(v1::FileEntry&)> visit) {
      files([&](v1::FileEntry& file) {
        looks.Add(file);
        visit(file);
      });
    }));
  };
  CollectPlanInto(CollectorEnvOf(env, options, plan, fs), plan, {one, list});
  PARITECT_RETURN_IF_ERROR(kept);
  return writer.Finish();
}

int Run(AgentEnv& env, absl::Span<const std::string> args) {
  auto options = ParseOptions(args);
  if (!options.ok()) {
    env.err << "paritect-agent collect: " << options.status().message() << "\nusage: paritect-agent collect " << kUsage
            << "\n";
    return kAgentUsage;
  }
  if (options->help) {
    env.out << "usage: paritect-agent collect " << kUsage << "\n";
    return kAgentOk;
  }
  auto plan = LoadPlan(env.fs, options->plan, env.host_name);
  const absl::Status there = plan.ok() ? CheckPlanPaths(env.fs, *plan) : plan.status();
  if (!there.ok()) {
    env.err << "paritect-agent collect: " << there.message() << "\n";
    return kAgentUsage;
  }
  Summary summary(env);
  auto pieces = Collect(env, *options, *plan, summary);
  if (!pieces.ok()) {
    env.err << "paritect-agent collect: " << pieces.status().message() << "\n";
    return kAgentInternal;
  }
  const auto written = env.write(options->output, [&](WriteBytes write) {
    for (const std::string& piece : *pieces) PARITECT_RETURN_IF_ERROR(write(piece));
    return absl::OkStatus();
  });
  if (!written.ok()) {
    env.err << "paritect-agent collect: " << written.message() << "\n";
    return kAgentUsage;
  }
  summary.Tell(options->output, plan->info().node());
  return kAgentOk;
}

}  // namespace

extern const AgentCommand kAgentCollectCommand;
const AgentCommand kAgentCollectCommand = {"collect", kUsage,
                                           "collect what the plan names into one bundle, without a server", &Run};

}  // namespace paritect
