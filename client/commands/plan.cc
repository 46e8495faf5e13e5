// paritect plan init|show: the plan that a folder's content suggests, and what a plan takes.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/drafting/folder_scan.h"
#include "agent/drafting/recognise.h"
#include "client/plan/told_input.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/plan_sources.h"
#include "formats/plan_text.h"
#include "report/language.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect plan";
constexpr absl::string_view kSummary = "draft a plan from a folder, or show what a plan takes";
constexpr absl::string_view kInit = "paritect plan init";
constexpr absl::string_view kShow = "paritect plan show";

struct PlanOptions {
  std::vector<std::string> paths;
  bool hash_data = false;
  bool force = false;
  std::string output = "text";
  std::string lang;
};

// --- init --------------------------------------------------------------------------------------------------

PlanRemarks RemarksOf(const Rules& rules, absl::Span<const Language> languages, const SideInput& input) {
  PlanRemarks remarks;
  remarks.head = {Word(rules, languages, "plan_head"), absl::StrCat("  ", Word(rules, languages, "plan_head_command"))};
  for (const TakenSource& source : input.draft->taken) {
    std::string path = source.path;
    if (source.key == "datasets" && absl::EndsWith(path, "/")) path.pop_back();
    const std::string words = SourceWords(rules, languages, source);
    const std::string shown = DisplayBytes(source.path);
    // The path stands before the remark already.
    remarks.of_source[path] = std::string(
        absl::StripLeadingAsciiWhitespace(absl::StartsWith(words, shown) ? words.substr(shown.size()) : words));
  }
  if (!input.draft->not_taken.empty()) remarks.end.push_back(Word(rules, languages, "plan_end_not_taken"));
  for (const NotTaken& one : input.draft->not_taken) {
    remarks.end.push_back(absl::StrCat("  ", DisplayBytes(one.path), ": ", NotTakenWords(rules, languages, one)));
  }
  remarks.end.push_back(Word(rules, languages, "plan_end_more"));
  return remarks;
}

// Several nodes of a run have a plan each; `check` takes them all where no plan.yaml stands beside them.
std::string PlanFile(const v1::Plan& plan, std::size_t plans) {
  return plans == 1 ? JoinPath(plan.base(), "plan.yaml")
                    : JoinPath(plan.base(), absl::StrCat("plan-", plan.info().node(), ".yaml"));
}

absl::Status WriteDrafts(CommandEnv& env, const PlanOptions& o, absl::Span<const Language> languages,
                         const std::vector<SideInput>& inputs) {
  for (const SideInput& input : inputs) {
    for (const v1::Plan& plan : input.plans) {
      const std::string file = PlanFile(plan, input.plans.size());
      if (!o.force && env.fs.LStat(file).ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(DisplayBytes(file), ": is there already; --force writes it anew"));
      }
    }
  }
  for (const SideInput& input : inputs) {
    const PlanRemarks remarks = RemarksOf(env.rules, languages, input);
    for (const v1::Plan& plan : input.plans) {
      const std::string file = PlanFile(plan, input.plans.size());
      PARITECT_RETURN_IF_ERROR(WriteFileAtomically(file, PlanToText(plan, remarks)));
      env.out << DisplayBytes(file) << "\n";
    }
  }
  return absl::OkStatus();
}

// Of the folder alone, whatever plan stands in it.
absl::StatusOr<SideInput> DraftAnew(CommandEnv& env, const std::string& path, const DraftOptions& options) {
  SideInput input;
  input.path = path;
  PARITECT_ASSIGN_OR_RETURN(input.draft, DraftPlan(env.fs, env.rules, path, options));
  input.plans = input.draft->plans;
  return input;
}

ExitCode Init(CommandEnv& env, const std::vector<std::string>& args) {
  PlanOptions o;
  Arguments arguments(kInit, "write a plan.yaml that names what lies in a folder");
  arguments.Texts("folders", o.paths, "folder of the baseline run, then of the migrated run; or one", true);
  arguments.Flag("--hash-data", o.hash_data, "have data sets and weights beyond 1 GiB read too");
  arguments.Flag("--force", o.force, "write over a plan.yaml that is there");
  arguments.Text("--lang", o.lang, "en or zh: of the comments");
  if (auto code = ParseOrAnswer(env, kInit, arguments, args)) return *code;
  const auto languages = ChooseLanguages(o.lang, env.getenv);
  if (!languages.ok()) return UsageError(env, kInit, languages.status().message());
  if (o.paths.size() > 2) return UsageError(env, kInit, "at most two folders: of the baseline and the migrated run");
  std::vector<SideInput> inputs[2];
  for (std::size_t i = 0; i < o.paths.size(); ++i) {
    auto input = DraftAnew(env, o.paths[i], {.hash_data = o.hash_data, .anew = true});
    if (!input.ok()) return UsageError(env, kInit, input.status().message());
    inputs[i].push_back(*std::move(input));
  }
  PairSideInputs(env, inputs[0], inputs[1]);
  inputs[0].insert(inputs[0].end(), inputs[1].begin(), inputs[1].end());
  const absl::Status written = WriteDrafts(env, o, *languages, inputs[0]);
  return written.ok() ? kExitOk : UsageError(env, kInit, written.message());
}

// --- show --------------------------------------------------------------------------------------------------

// A source of a plan as what stands on disk under its path.
class PlanView {
 public:
  PlanView(CommandEnv& env, const v1::Plan& plan) : env_(env), plan_(plan) {}

  std::vector<TakenSource> Sources() {
    for (const auto& set : plan_.datasets()) AddDataset(set);
    for (const PlanSource& one : SourcesOf(plan_)) {
      if (one.key == "datasets" || one.paths.empty()) continue;
      TakenSource& taken = AddFiles(one.key, std::string(one.paths.front()));
      if (one.step) taken.count = *one.step;
    }
    return std::move(out_);
  }

 private:
  void AddDataset(const v1::DatasetSource& set) {
    if (set.root().empty()) {
      AddFiles("datasets", set.manifest().empty() ? set.listing() : set.manifest());
      return;
    }
    const ScannedData size = MeasureData(env_.fs, ResolvePath(plan_, set.root()), "");
    TakenSource one = {.key = "datasets", .path = set.root(), .format = "tree"};
    one.files = static_cast<std::int64_t>(size.files);
    one.size_bytes = size.size_bytes;
    one.at_least = size.more;
    one.names_only = set.names_only();
    out_.push_back(std::move(one));
  }

  // Every file that fits is counted; the first tells the format.
  TakenSource& AddFiles(absl::string_view key, const std::string& path) {
    TakenSource one = {.key = std::string(key), .path = path, .format = "-", .files = 0};
    const auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, path));
    for (const PathMatch& match : matches.ok() ? *matches : std::vector<PathMatch>()) {
      if (++one.files > 1) continue;
      const auto info = env_.fs.Stat(match.path);
      if (!info.ok() || info->type != FileInfo::Type::kRegular) continue;
      const RecognisedFile file = RecogniseFile(env_.fs, env_.rules, match.path, info->size_bytes);
      if (!file.format.empty()) one.format = file.format;
      one.count = std::max(file.records, file.entries);
      one.at_least = file.more;
    }
    return out_.emplace_back(std::move(one));
  }

  CommandEnv& env_;
  const v1::Plan& plan_;
  std::vector<TakenSource> out_;
};

void PrintInput(CommandEnv& env, absl::Span<const Language> languages, const SideInput& input,
                const std::vector<std::pair<const v1::Plan*, std::vector<TakenSource>>>& plans) {
  for (const auto& [plan, sources] : plans) {
    SayLine(env, absl::StrCat(DisplayBytes(input.path), ": run ", DisplayBytes(plan->info().run()), ", node ",
                              DisplayBytes(plan->info().node())));
    for (const TakenSource& one : sources) {
      env.out << "  " << Pad(one.key, 9) << SourceWords(env.rules, languages, one) << "\n";
    }
  }
  if (!input.draft || input.draft->not_taken.empty()) return;
  env.out << Word(env.rules, languages, "plan_end_not_taken") << "\n";
  for (const NotTaken& one : input.draft->not_taken) {
    env.out << "  " << DisplayBytes(one.path) << ": " << NotTakenWords(env.rules, languages, one) << "\n";
  }
}

ExitCode Show(CommandEnv& env, const std::vector<std::string>& args) {
  PlanOptions o;
  Arguments arguments(kShow, "tell what a plan, or a folder without one, takes for what");
  arguments.Texts("paths", o.paths, "plans or folders", true);
  arguments.Flag("--hash-data", o.hash_data, "as data sets and weights beyond 1 GiB would be read");
  arguments.Text("-o,--output", o.output, "text or json (one object a path)");
  arguments.Text("--lang", o.lang, "en or zh");
  if (auto code = ParseOrAnswer(env, kShow, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kShow, o.output, "text")) return *code;
  const auto languages = ChooseLanguages(o.lang, env.getenv);
  if (!languages.ok()) return UsageError(env, kShow, languages.status().message());
  for (const std::string& path : o.paths) {
    auto input = ReadSideInput(env, path, {o.hash_data});
    if (!input.ok()) return UsageError(env, kShow, input.status().message());
    std::vector<std::pair<const v1::Plan*, std::vector<TakenSource>>> plans;
    // What was drafted is known already; of several nodes each plan tells its own.
    const bool drafted = input->draft && input->draft->plans.size() == 1;
    for (const v1::Plan& plan : input->plans) {
      plans.emplace_back(&plan, drafted ? input->draft->taken : PlanView(env, plan).Sources());
    }
    if (o.output == "text") {
      PrintInput(env, *languages, *input, plans);
      continue;
    }
    if (!input->draft) input->draft.emplace();
    if (input->draft->taken.empty()) {
      for (const auto& [plan, sources] : plans) {
        input->draft->taken.insert(input->draft->taken.end(), sources.begin(), sources.end());
      }
    }
    env.out << DumpJson(InputToJson(env.rules, *input), -1) << "\n";
  }
  return kExitOk;
}

constexpr Verb kVerbs[] = {{"init", "write a plan.yaml that names what lies in a folder", &Init},
                           {"show", "tell what a plan, or a folder without one, takes for what", &Show}};

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kPlanCommand;
const Command kPlanCommand = {"plan", kSummary, &Run};

}  // namespace paritect
