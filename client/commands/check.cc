// paritect check: the local audit.
#include "checks/runner.h"
#include "client/report/audit_options.h"
#include "client/report/exit.h"
#include "client/report/keep_audit.h"
#include "client/report/offline_audit.h"
#include "client/report/output_target.h"
#include "client/terminal.h"
#include "common/nearest.h"

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

absl::Status CheckItems(const Rules& rules, const std::vector<std::string>& items) {
  for (const std::string& id : items) {
    if (rules.catalogue.FindItem(id) != nullptr) continue;
    if (rules.catalogue.FindCheck(id) != nullptr) {
      const std::string item = id.substr(0, id.rfind('.'));
      return absl::InvalidArgumentError(absl::StrCat("--item ", id, ": that is a check; its item is ", item));
    }
    return absl::InvalidArgumentError(absl::StrCat("--item ", id, ": there is no such item",
                                                   DidYouMean(id, CatalogueIds(rules, false)),
                                                   " (`paritect explain` lists all)"));
  }
  return absl::OkStatus();
}

// Everything that can be wrong with the command line, asked before the long work begins.
struct Prepared {
  std::vector<OutputTarget> targets;
  RenderOptions render;
  Profile profile;
};

absl::StatusOr<Prepared> Prepare(CommandEnv& env, const CheckOptions& o) {
  auto targets = ParseOutputTargets(o.output);
  if (!targets.ok()) return targets.status();
  auto render = TextOptions(env, o.audit);
  if (!render.ok()) return render.status();
  if (absl::Status status = CheckItems(env.rules, o.items); !status.ok()) return status;
  if (absl::Status status = RequireAPlan(o.audit); !status.ok()) return status;
  auto profile = LoadProfile(env, o.audit.profile, o.audit.answers);
  if (!profile.ok()) return profile.status();
  return Prepared{*std::move(targets), *std::move(render), *std::move(profile)};
}

ExitCode Audit(CommandEnv& env, const CheckOptions& o) {
  auto prepared = Prepare(env, o);
  if (!prepared.ok()) return UsageError(env, kName, prepared.status().message());
  auto evidence = LoadEvidence(env, o.audit.baseline, o.audit.migrated, o.audit.reading);
  if (!evidence.ok()) return UsageError(env, kName, evidence.status().message());
  AuditOptions options;
  options.items = o.items;
  options.today = env.today;
  const v1::Report report = RunAudit(**evidence, prepared->profile, env.rules, options);
  for (const v1::Text& warning : report.warnings()) {
    env.err << kName << ": warning: " << TerminalSafe(InAll(prepared->render.languages, warning)) << "\n";
  }
  if (!o.db.empty()) {
    auto kept = KeepAudit(env, o.db, **evidence, report);
    if (!kept.ok()) return UsageError(env, kName, kept.status().message());
  }
  const absl::Status written = WriteOutputs(env, prepared->targets, report, prepared->render);
  if (!written.ok()) return UsageError(env, kName, written.message());
  return CodeOfReport(report, o.complete);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  CheckOptions o;
  Arguments arguments(kName, kSummary);
  DeclareAuditArguments(arguments, o.audit);
  arguments.Texts("-o,--output", o.output,
                  "FORMAT or FORMAT=FILE, repeatable: table (default), json, jsonl, markdown, csv, junit");
  arguments.Texts("--item", o.items, "only this item of the checklist; repeatable");
  arguments.Flag("--complete", o.complete, "end with 3 when nothing failed but a required check was not performed");
  arguments.Text("--db", o.db, "keep evidence and report in this SQLite file (`paritect report --db` reads it)");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, kName, parsed.status().message());
  if (!*parsed) {
    env.out << arguments.help();
    return kExitOk;
  }
  return Audit(env, o);
}

}  // namespace

extern const Command kCheckCommand;
const Command kCheckCommand = {"check", kSummary, &Run};

}  // namespace paritect
