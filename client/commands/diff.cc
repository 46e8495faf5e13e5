// paritect diff KIND A B: what differs between two things of one kind. Ends with 0 when nothing does, 1 when something
// does, 2 when it cannot be told.
#include "absl/strings/str_join.h"
#include "client/diff/diff_kind.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/nearest.h"

namespace paritect {

#define PARITECT_DIFF(name) extern const DiffKind k##name##Diff;
#include "client/all_diffs.inc"
#undef PARITECT_DIFF

absl::Span<const DiffKind* const> AllDiffKinds() {
  static constexpr const DiffKind* kAll[] = {
#define PARITECT_DIFF(name) &k##name##Diff,
#include "client/all_diffs.inc"
#undef PARITECT_DIFF
  };
  return kAll;
}

namespace {

constexpr absl::string_view kName = "paritect diff";
constexpr absl::string_view kSummary =
    "show what differs between two plans, folders or bundles: diff settings|data|shards|curve|weights|scripts A B";

struct DiffOptions {
  std::vector<std::string> words;  // KIND A B
  bool all = false;
  std::string output = "table";
  std::vector<std::string> metrics;
  AuditArguments common;
};

absl::StatusOr<const DiffKind*> FindKind(const std::string& name) {
  std::vector<std::string> known;
  for (const DiffKind* kind : AllDiffKinds()) {
    if (kind->name == name) return kind;
    known.emplace_back(kind->name);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no kind of difference '", name, "'", DidYouMean(name, known),
                                                 "; there are ", absl::StrJoin(known, ", ")));
}

ExitCode Differ(CommandEnv& env, const DiffOptions& o) {
  const auto fail = [&env](const absl::Status& status) { return UsageError(env, kName, status.message()); };
  if (o.words.size() != 3) {
    return fail(
        absl::InvalidArgumentError("give a kind and two things to compare: "
                                   "diff settings|data|shards|curve|weights|scripts A B"));
  }
  auto kind = FindKind(o.words[0]);
  if (!kind.ok()) return fail(kind.status());
  if (o.output != "table" && o.output != "json") {
    return fail(absl::InvalidArgumentError(
        absl::StrCat("-o ", o.output, ": not supported by this version; there are table, json")));
  }
  auto render = TextOptions(env, o.common);
  if (!render.ok()) return fail(render.status());
  auto profile = LoadProfile(env, o.common.profile, "");
  if (!profile.ok()) return fail(profile.status());
  if (!o.metrics.empty() && o.words[0] != "curve") {
    return fail(absl::InvalidArgumentError("--metric goes with diff curve alone"));
  }
  const DiffRequest request = {o.words[1],         o.words[2],         o.all, o.output == "json", o.metrics,
                               *std::move(render), *std::move(profile)};
  const auto equal = (*kind)->run(env, request);
  if (!equal.ok()) return fail(equal.status());
  return *equal ? kExitOk : kExitFailed;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  DiffOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Texts("kind_and_sides", o.words,
                  "settings, data, curve, shards, weights or scripts A B; A, B: a plan, a folder, a bundle, a settings "
                  "or log file, a list, a checkpoint, a run or AUDIT:baseline on the server");
  arguments.Flag("--all", o.all, "show equal values too; of curves: every common step in json");
  arguments.Texts(
      "--metric", o.metrics,
      "of curves: loss (default), lr, grad_norm, loss_scale, accuracy, eval_loss, samples or a metric by the "
      "name in the log; repeatable");
  arguments.Text("-o,--output", o.output, "table or json");
  arguments.Text("--profile", o.common.profile, "profile file whose ignore_keys are left out");
  arguments.Text("--lang", o.common.lang, "en, zh, or both as en,zh");
  arguments.Text("--color", o.common.colour, "auto, always or never");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  return Differ(env, o);
}

}  // namespace

extern const Command kDiffCommand;
const Command kDiffCommand = {"diff", kSummary, &Run};

}  // namespace paritect
