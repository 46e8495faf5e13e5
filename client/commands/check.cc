// paritect check: the local audit.
#include "checks/runner.h"
#include "client/arguments.h"
#include "client/command.h"
#include "client/keep_audit.h"
#include "client/offline_audit.h"
#include "client/renderer.h"

namespace paritect {
namespace {

struct CheckOptions {
  std::vector<std::string> baseline;
  std::vector<std::string> migrated;
  std::string profile;
  std::vector<std::string> output;
  std::string lang;
  std::vector<std::string> items;
  bool complete = false;
  std::string answers;
  std::string db;
};

ExitCode UsageError(CommandEnv& env, absl::string_view message) {
  env.err << "paritect check: " << message << "\n";
  return kExitUsage;
}

ExitCode CodeOf(const v1::Report& report, bool complete) {
  if (report.verdict() == v1::VERDICT_FAIL) return kExitFailed;
  if (!complete) return kExitOk;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.required() && check.verdict() == v1::VERDICT_NOT_PERFORMED) return kExitNotPerformed;
    }
  }
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  CheckOptions o;
  Arguments arguments("paritect check", "audit a migrated run against its baseline, without a server");
  arguments.Texts("--baseline", o.baseline, "plan, folder with plan.yaml, or bundle of the baseline side");
  arguments.Texts("--migrated", o.migrated, "the same of the migrated side");
  arguments.Text("--profile", o.profile, "profile file: thresholds, ignored keys, waivers");
  arguments.Texts("-o,--output", o.output, "FORMAT or FORMAT=FILE");
  arguments.Text("--lang", o.lang, "en, zh or en,zh");
  arguments.Texts("--item", o.items, "only this item");
  arguments.Flag("--complete", o.complete, "end with 3 when a required check was not performed");
  arguments.Text("--answers", o.answers, "attestations and waivers made offline");
  arguments.Text("--db", o.db, "keep the evidence in this SQLite file");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, parsed.status().message());
  if (!*parsed) {
    env.out << arguments.help();
    return kExitOk;
  }
  auto evidence = LoadEvidence(env, o.baseline, o.migrated);
  if (!evidence.ok()) return UsageError(env, evidence.status().message());
  AuditOptions options;
  options.items = o.items;
  options.today = env.today;
  const v1::Report report = RunAudit(**evidence, env.rules.profile, env.rules, options);
  if (!o.db.empty()) {
    if (auto kept = KeepAudit(env, o.db, **evidence, report); !kept.ok()) return UsageError(env, kept.message());
  }
  const RenderOptions render = {.rules = env.rules};
  const Renderer* renderer = FindRenderer(o.output.empty() ? "json" : o.output[0]);
  if (renderer == nullptr) return UsageError(env, "no such format");
  renderer->render(report, render, env.out);
  return CodeOf(report, o.complete);
}

}  // namespace

extern const Command kCheckCommand;
const Command kCheckCommand = {"check", "audit a migrated run against its baseline, without a server", &Run};

}  // namespace paritect
