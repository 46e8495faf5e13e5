// paritect check: the local audit.
#include "absl/strings/match.h"
#include "checks/pictures/pictures.h"
#include "checks/runner.h"
#include "checks/settings/platform.h"
#include "client/localise.h"
#include "client/report/audit_options.h"
#include "client/report/exit.h"
#include "client/report/keep_audit.h"
#include "client/report/meta.h"
#include "client/report/offline_audit.h"
#include "client/report/output_target.h"
#include "client/verbs.h"
#include "common/nearest.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect check";
constexpr absl::string_view kSummary = "audit a migrated run against its baseline, without a server";

struct CheckOptions {
  AuditArguments audit;
  std::vector<std::string> output;
  std::vector<std::string> items;
  bool complete = false;
  std::string db;
};

// "data" stands for every item of that group.
std::vector<std::string> ItemsNamed(const Rules& rules, const std::string& id) {
  std::vector<std::string> items;
  for (const CatalogueItem& item : rules.catalogue.items) {
    if (item.id == id || absl::StartsWith(item.id, id + ".")) items.push_back(item.id);
  }
  return items;
}

absl::StatusOr<std::vector<std::string>> ReadItems(const Rules& rules, const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& id : words) {
    const std::vector<std::string> named = ItemsNamed(rules, id);
    items.insert(items.end(), named.begin(), named.end());
    if (!named.empty()) continue;
    if (rules.catalogue.FindCheck(id) != nullptr) {
      const std::string item = id.substr(0, id.rfind('.'));
      return absl::InvalidArgumentError(absl::StrCat("--item ", id, ": that is a check; its item is ", item));
    }
    return absl::InvalidArgumentError(absl::StrCat("--item ", id, ": there is no such item",
                                                   DidYouMean(id, CatalogueIds(rules, false)),
                                                   " (`paritect explain` lists all)"));
  }
  return items;
}

// Everything that can be wrong with the command line, asked before the long work begins.
struct Prepared {
  std::vector<OutputTarget> targets;
  RenderOptions render;
  std::vector<std::string> items;
  Profile profile;
};

absl::StatusOr<Prepared> Prepare(CommandEnv& env, const CheckOptions& o) {
  auto targets = ParseOutputTargets(o.output);
  if (!targets.ok()) return targets.status();
  auto render = TextOptions(env, o.audit);
  if (!render.ok()) return render.status();
  auto items = ReadItems(env.rules, o.items);
  if (!items.ok()) return items.status();
  auto profile = LoadProfile(env, o.audit.profile, o.audit.answers);
  if (!profile.ok()) return profile.status();
  return Prepared{*std::move(targets), *std::move(render), *std::move(items), *std::move(profile)};
}

// Device evidence that is the wrong way round: every check of the migrated side would answer about the baseline.
void WarnOfSwappedSides(const Rules& rules, const EvidenceSet& evidence, v1::Report& report) {
  const auto family_of = [&](Side side) -> const ProductFamily* {
    const std::vector<RunView> runs = evidence.Runs(side);
    return runs.empty() ? nullptr : PlatformOf(rules, runs[0]).family;
  };
  const ProductFamily* baseline = family_of(Side::kBaseline);
  const ProductFamily* migrated = family_of(Side::kMigrated);
  if (baseline == nullptr || migrated == nullptr || !baseline->npu || migrated->npu) return;
  *report.add_warnings() =
      rules.messages.Say("sides_swapped", {{"baseline", baseline->name}, {"migrated", migrated->name}});
}

ExitCode Audit(CommandEnv& env, CheckOptions& o) {
  if (absl::Status status = TakeSides(o.audit); !status.ok()) return UsageError(env, kName, status.message());
  auto prepared = Prepare(env, o);
  if (!prepared.ok()) return UsageError(env, kName, prepared.status().message());
  // Kept evidence and drawn reports show everything that the plans name.
  const bool shows_all = !o.db.empty() || AnyDraws(prepared->targets);
  if (!shows_all) o.audit.reading.only = CollectorsFor(env.rules, prepared->items);
  auto input = LoadAuditInput(env, o.audit);
  if (!input.ok()) return UsageError(env, kName, input.status().message());
  const EvidenceSet& evidence = *input->evidence;
  prepared->render.inputs = std::move(input->json);
  AuditOptions options;
  options.items = prepared->items;
  options.today = env.today;
  const CheckContext context{evidence, prepared->profile, env.rules};
  v1::Report report = RunAudit(context, options);
  WarnOfSwappedSides(env.rules, evidence, report);
  for (const v1::Text& warning : report.warnings()) {
    env.err << kName << Localised(env.language, ": warning: ")
            << TerminalSafe(InAll(prepared->render.languages, warning)) << "\n";
  }
  if (!o.db.empty()) {
    auto kept = KeepAudit(env, o.db, evidence, report);
    if (!kept.ok()) return UsageError(env, kName, kept.status().message());
  }
  v1::ReportPictures pictures;
  if (AnyDraws(prepared->targets)) {
    pictures = MakePictures(context);
    prepared->render.companion.pictures = &pictures;
  }
  const v1::ReportMeta meta = MetaOfNow(env);
  prepared->render.companion.meta = &meta;
  const absl::Status written = WriteOutputs(env, prepared->targets, report, prepared->render);
  if (!written.ok()) return UsageError(env, kName, written.message());
  return CodeOfReport(report, o.complete);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  CheckOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Texts("sides", o.audit.sides, "folder of the baseline run, then of the migrated run (or plans, bundles)");
  DeclareAuditArguments(arguments, o.audit);
  DeclareDetailArguments(arguments, o.audit);
  arguments.Texts("-o,--output", o.output,
                  absl::StrCat("FORMAT, FORMAT=FILE, or FILE by its ending (report.md), repeatable (default: table): ",
                               RendererNames()));
  arguments.Texts("--item", o.items, "only this item of the checklist, or all of a group (data); repeatable");
  arguments.Flag("--complete", o.complete, "end with 3 when nothing failed but a required check was not performed");
  arguments.Text("--db", o.db, "keep evidence and report in this SQLite file (`paritect report --db` reads it)");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  return Audit(env, o);
}

}  // namespace

extern const Command kCheckCommand;
const Command kCheckCommand = {"check", kSummary, &Run};

}  // namespace paritect
