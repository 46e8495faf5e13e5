// paritect diagnose: the walk from the symptom to its cause, each step answered by checks, with what to do next.
#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/diagnosis.h"
#include "checks/runner.h"
#include "client/remote/remote_evidence.h"
#include "client/render/table_writer.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/report/offline_audit.h"
#include "client/report/read.h"
#include "client/report/view.h"
#include "client/terminal.h"
#include "client/verbs.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect diagnose";
constexpr absl::string_view kSummary = "walk from the symptom to its cause, step by step, and say what to do next";
constexpr std::uint64_t kReportBytesMax = 256 << 20;
constexpr int kFindingsShown = 3;

struct DiagnoseOptions {
  std::string source;
  std::string output = "text";
  AuditArguments audit;
  std::string remote_audit;
  RemoteArguments remote;
};

absl::string_view ScenarioId(const Diagnosis& diagnosis) {
  if (!diagnosis.scenario.has_value()) return "diagnose_undecided";
  switch (*diagnosis.scenario) {
    case 0: return "diagnose_none";
    case 1: return "diagnose_scenario_1";
    case 2: return "diagnose_scenario_2";
    default: return "diagnose_scenario_3";
  }
}

// What failed of a step, errors first, then warnings where nothing failed.
std::vector<const v1::Finding*> FindingsOf(const StepAnswer& answer, v1::Severity severity) {
  std::vector<const v1::Finding*> findings;
  for (const v1::CheckResult* check : answer.checks) {
    for (const v1::Finding& finding : check->findings()) {
      if (finding.severity() == severity && !finding.has_waived()) findings.push_back(&finding);
    }
  }
  return findings;
}

// Checks of the report that fail and that no step of the shown stages asks.
std::vector<std::string> FailedElsewhere(const Diagnosis& diagnosis, const v1::Report& report) {
  std::set<std::string> asked;
  for (const StageAnswer& stage : diagnosis.stages) {
    for (const StepAnswer& step : stage.steps) {
      for (const v1::CheckResult* check : step.checks) asked.insert(check->id());
    }
  }
  std::vector<std::string> failed;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.verdict() == v1::VERDICT_FAIL && !asked.contains(check.id())) failed.push_back(check.id());
    }
  }
  return failed;
}

// The tree of stages and steps on a terminal; continuation lines keep the branches.
class Tree {
 public:
  Tree(const Rules& rules, const RenderOptions& options, std::ostream& out)
      : rules_(rules), options_(options), w_(options, out) {}

  void Print(const Diagnosis& diagnosis, const std::vector<std::string>& failed_elsewhere) {
    w_.Wrapped(0, absl::StrCat(Say("diagnose_heading"), ":"), Say(ScenarioId(diagnosis)), Style::kBold);
    if (diagnosis.decided_by != nullptr) Decision(*diagnosis.decided_by);
    for (std::size_t i = 0; i < diagnosis.stages.size(); ++i) Stage(diagnosis, i);
    w_.Line();
    if (!failed_elsewhere.empty()) {
      w_.Wrapped(0, absl::StrCat(Say("diagnose_failed"), ":"), absl::StrJoin(failed_elsewhere, ", "), Style::kRed);
    }
    Next(diagnosis);
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(rules_, options_.languages, id, args);
  }
  std::string Both(const v1::Text& text) const { return InAll(options_.languages, text); }

  // Why this scenario: the finding that says so, or what would decide it.
  void Decision(const v1::CheckResult& check) {
    for (const v1::Finding& finding : check.findings()) {
      if (finding.severity() == v1::SEVERITY_ERROR) w_.WrappedText(2, "", finding.message());
    }
    if (check.verdict() != v1::VERDICT_NOT_PERFORMED) return;
    for (const v1::Missing& missing : check.missing()) {
      w_.WrappedText(2, "-", missing.what());
      w_.WrappedText(4, absl::StrCat(Say("ui_get"), ":"), missing.how(), Style::kGreen);
    }
  }

  // Ascii: "|- ", "`- "; else box characters.
  std::string Branch(bool last) const {
    if (options_.ascii) return last ? "`- " : "|- ";
    return last ? "└─ " : "├─ ";
  }
  std::string Trunk(bool last) const {
    if (last) return "   ";
    return options_.ascii ? "|  " : "│  ";
  }

  void Lines(const std::string& first, const std::string& rest, absl::string_view text, Style style) {
    const std::size_t used = DisplayWidth(rest);
    const std::vector<std::string> lines = Wrap(TerminalSafe(text), std::max<std::size_t>(30, w_.columns() - used));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      w_.Line(absl::StrCat(w_.Paint(i == 0 ? first : rest, Style::kDim), w_.Paint(lines[i], style)));
    }
  }

  void Stage(const Diagnosis& diagnosis, std::size_t i) {
    const StageAnswer& stage = diagnosis.stages[i];
    const bool last = i + 1 == diagnosis.stages.size();
    Lines(Branch(last), Trunk(last), absl::StrCat(Sign(stage.verdict), " ", Both(stage.stage->title)), Style::kBold);
    for (std::size_t j = 0; j < stage.steps.size(); ++j) {
      const bool here = diagnosis.next.has_value() && diagnosis.next->stage == i && diagnosis.next->step == j;
      Step(stage.steps[j], Trunk(last), j + 1 == stage.steps.size(), here);
    }
  }

  std::string Sign(v1::Verdict verdict) const {
    switch (verdict) {
      case v1::VERDICT_PASS: return options_.ascii ? "[ok]" : "✓";
      case v1::VERDICT_FAIL: return options_.ascii ? "[!!]" : "✗";
      default: return options_.ascii ? "[??]" : "?";
    }
  }

  void Step(const StepAnswer& step, const std::string& trunk, bool last, bool here) {
    const Style style = here                               ? Style::kBold
                        : step.verdict == v1::VERDICT_FAIL ? Style::kRed
                        : step.verdict == v1::VERDICT_PASS ? Style::kGreen
                                                           : Style::kYellow;
    std::string title = absl::StrCat(Sign(step.verdict), " ", Both(step.step->title));
    if (step.waits) absl::StrAppend(&title, "  (", Say("diagnose_waits"), ")");
    if (here) absl::StrAppend(&title, options_.ascii ? "  <- " : "  ← ", Say("diagnose_here"));
    Lines(trunk + Branch(last), trunk + Trunk(last), title, style);
    const std::string inner = trunk + Trunk(last) + "  ";
    if (step.verdict == v1::VERDICT_FAIL) Failures(step, inner);
    if (step.verdict == v1::VERDICT_NOT_PERFORMED && here) MissingOf(step, inner);
    if (step.verdict == v1::VERDICT_PASS) return;
    std::string checks;
    for (const v1::CheckResult* check : step.checks) {
      if (check->verdict() == v1::VERDICT_PASS) continue;
      absl::StrAppend(&checks, checks.empty() ? "" : ", ", check->id());
    }
    for (const std::string& id : step.absent) absl::StrAppend(&checks, checks.empty() ? "" : ", ", id);
    if (!checks.empty()) Lines(inner, inner, checks, Style::kDim);
  }

  void Failures(const StepAnswer& step, const std::string& inner) {
    const std::vector<const v1::Finding*> findings = FindingsOf(step, v1::SEVERITY_ERROR);
    for (std::size_t i = 0; i < findings.size() && i < kFindingsShown; ++i) {
      const v1::Finding& finding = *findings[i];
      Lines(inner + "- ", inner + "  ", Both(finding.message()), Style::kPlain);
      std::string values;
      if (!finding.baseline().empty()) absl::StrAppend(&values, Say("ui_baseline"), ": ", finding.baseline());
      if (!finding.migrated().empty()) {
        absl::StrAppend(&values, values.empty() ? "" : w_.dot(), Say("ui_migrated"), ": ", finding.migrated());
      }
      if (!values.empty()) Lines(inner + "  ", inner + "  ", values, Style::kDim);
    }
    if (findings.size() > kFindingsShown) {
      Lines(inner, inner, Say("ui_more", {{"count", absl::StrCat(findings.size() - kFindingsShown)}}), Style::kDim);
    }
  }

  void MissingOf(const StepAnswer& step, const std::string& inner) {
    std::vector<std::string> said;
    for (const v1::CheckResult* check : step.checks) {
      for (const v1::Missing& missing : check->missing()) {
        const std::string what = Both(missing.what());
        if (std::find(said.begin(), said.end(), what) != said.end()) continue;
        if (said.size() >= kFindingsShown) return;
        said.push_back(what);
        Lines(inner + "- ", inner + "  ", what, Style::kPlain);
      }
    }
  }

  void Next(const Diagnosis& diagnosis) {
    if (diagnosis.exhausted) {
      w_.Wrapped(0, absl::StrCat(Say("diagnose_next"), ":"), Say("diagnose_exhausted"), Style::kBold);
    }
    if (!diagnosis.next.has_value()) {
      if (!diagnosis.exhausted) {
        w_.Wrapped(0, absl::StrCat(Say("diagnose_next"), ":"), Say("diagnose_nothing_left"), Style::kBold);
      }
      return;
    }
    const StageAnswer& stage = diagnosis.stages[diagnosis.next->stage];
    const StepAnswer& step = stage.steps[diagnosis.next->step];
    w_.Wrapped(0, absl::StrCat(Say("diagnose_next"), ":"),
               absl::StrCat(Both(stage.stage->title), w_.dot(), Both(step.step->title)), Style::kBold);
    int number = 0;
    if (step.verdict == v1::VERDICT_FAIL) {
      std::vector<std::string> said;
      for (const v1::Finding* finding : FindingsOf(step, v1::SEVERITY_ERROR)) {
        const std::string remedy = Both(finding->remedy());
        if (remedy.empty() || std::find(said.begin(), said.end(), remedy) != said.end()) continue;
        if (said.size() >= kFindingsShown) break;
        said.push_back(remedy);
        Number(++number, finding->remedy());
      }
      for (const v1::Text& next : step.step->next) Number(++number, next);
      return;
    }
    std::vector<std::string> said;
    for (const v1::CheckResult* check : step.checks) {
      for (const v1::Missing& missing : check->missing()) {
        const std::string how = Both(missing.how());
        if (how.empty() || std::find(said.begin(), said.end(), how) != said.end()) continue;
        said.push_back(how);
        Number(++number, missing.how());
      }
    }
    if (!step.step->stage.empty()) {
      for (const v1::Text& next : step.step->next) Number(++number, next);
    }
  }

  void Number(int number, const v1::Text& text) { w_.WrappedText(2, absl::StrCat(number, "."), text, Style::kDim); }

  const Rules& rules_;
  const RenderOptions& options_;
  TableWriter w_;
};

OrderedJson TextsToJson(const v1::Text& text) {
  return {{"en", text.en()}, {"zh", text.zh()}};
}

OrderedJson StepToJson(const StepAnswer& step) {
  OrderedJson json;
  json["id"] = step.step->id;
  json["title"] = TextsToJson(step.step->title);
  json["verdict"] = VerdictWord(step.verdict);
  json["waits"] = step.waits;
  if (!step.step->stage.empty()) json["stage"] = step.step->stage;
  json["checks"] = OrderedJson::array();
  for (const v1::CheckResult* check : step.checks) {
    OrderedJson one = {{"id", check->id()}, {"verdict", VerdictWord(check->verdict())}};
    one["findings"] = OrderedJson::array();
    for (const v1::Finding& finding : check->findings()) {
      if (finding.severity() != v1::SEVERITY_NOTE) one["findings"].push_back(FindingToJson(finding));
    }
    one["missing"] = CheckToJson(*check)["missing"];
    json["checks"].push_back(std::move(one));
  }
  for (const std::string& id : step.absent) json["checks"].push_back({{"id", id}, {"verdict", "not_performed"}});
  json["next"] = OrderedJson::array();
  for (const v1::Text& next : step.step->next) json["next"].push_back(TextsToJson(next));
  return json;
}

OrderedJson ToJson(const Diagnosis& diagnosis, const Rules& rules) {
  OrderedJson json;
  json["schema"] = "paritect.diagnosis/1";
  json["scenario"] = nullptr;
  if (diagnosis.scenario.has_value()) json["scenario"] = *diagnosis.scenario;
  json["title"] = TextsToJson(rules.messages.Say(ScenarioId(diagnosis)));
  json["decided_by"] = nullptr;
  if (diagnosis.decided_by != nullptr) json["decided_by"] = CheckToJson(*diagnosis.decided_by);
  json["failed"] = diagnosis.failed();
  json["next"] = nullptr;
  if (diagnosis.next.has_value()) {
    const StageAnswer& stage = diagnosis.stages[diagnosis.next->stage];
    json["next"] = {{"stage", stage.stage->id}, {"step", stage.steps[diagnosis.next->step].step->id}};
  }
  json["exhausted"] = diagnosis.exhausted;
  json["stages"] = OrderedJson::array();
  for (const StageAnswer& stage : diagnosis.stages) {
    OrderedJson one = {{"id", stage.stage->id},
                       {"title", TextsToJson(stage.stage->title)},
                       {"verdict", VerdictWord(stage.verdict)},
                       {"steps", OrderedJson::array()}};
    for (const StepAnswer& step : stage.steps) one["steps"].push_back(StepToJson(step));
    json["stages"].push_back(std::move(one));
  }
  return json;
}

ExitCode Tell(CommandEnv& env, const DiagnoseOptions& o, const RenderOptions& options, const v1::Report& report) {
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), report);
  if (o.output == "json") {
    OrderedJson json = ToJson(diagnosis, env.rules);
    json["failed_elsewhere"] = FailedElsewhere(diagnosis, report);
    env.out << DumpJson(json) << "\n";
  } else {
    Tree(env.rules, options, env.out).Print(diagnosis, FailedElsewhere(diagnosis, report));
  }
  return diagnosis.failed() ? kExitFailed : kExitOk;
}

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

// Plans of one side below FOLDER/baseline or FOLDER/migrated: the folder itself where it holds plan.yaml, else what in
// it is a plan, a bundle or a folder with a plan.
std::vector<std::string> PlansIn(FileSystem& fs, const std::string& folder) {
  std::vector<std::string> plans;
  if (!IsFolder(fs, folder)) return plans;
  if (fs.Stat(JoinPath(folder, "plan.yaml")).ok()) return {folder};
  (void)fs.List(folder, [&](const DirectoryEntry& entry) {
    const std::string path = JoinPath(folder, entry.name);
    const bool named = absl::EndsWith(entry.name, ".pbundle") || absl::EndsWith(entry.name, ".yaml");
    if (named || fs.Stat(JoinPath(path, "plan.yaml")).ok()) plans.push_back(path);
  });
  std::sort(plans.begin(), plans.end());
  return plans;
}

absl::StatusOr<v1::Report> ReadReport(FileSystem& fs, const std::string& path) {
  auto text = ReadWholeFile(fs, path, kReportBytesMax);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": ", text.status().message()));
  auto report = ReportFromJson(*text);
  if (report.ok()) return report;
  return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": ", report.status().message()));
}

absl::StatusOr<v1::Report> AuditPlans(CommandEnv& env, const AuditArguments& o) {
  PARITECT_RETURN_IF_ERROR(RequireAPlan(o));
  PARITECT_ASSIGN_OR_RETURN(const Profile profile, LoadProfile(env, o.profile, o.answers));
  PARITECT_ASSIGN_OR_RETURN(auto evidence, LoadEvidence(env, o.baseline, o.migrated));
  AuditOptions options;
  options.today = env.today;
  return RunAudit(*evidence, profile, env.rules, options);
}

// A report file, a folder with report.json, or a folder with the plans of both sides. nullopt: no such path.
std::optional<absl::StatusOr<v1::Report>> FromPath(CommandEnv& env, const DiagnoseOptions& o) {
  if (!env.fs.Stat(o.source).ok()) return std::nullopt;
  if (!IsFolder(env.fs, o.source)) return ReadReport(env.fs, o.source);
  const std::string stored = JoinPath(o.source, "report.json");
  if (env.fs.Stat(stored).ok()) return ReadReport(env.fs, stored);
  AuditArguments sides = o.audit;
  sides.baseline = PlansIn(env.fs, JoinPath(o.source, "baseline"));
  sides.migrated = PlansIn(env.fs, JoinPath(o.source, "migrated"));
  if (sides.baseline.empty() && sides.migrated.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        DisplayBytes(o.source), ": neither report.json nor plans below baseline/ and migrated/ are in this folder"));
  }
  return AuditPlans(env, sides);
}

ExitCode AskServer(CommandEnv& env, const DiagnoseOptions& o, const RenderOptions& options, const std::string& audit) {
  return WithServer(env, kName, o.remote, [&](Connection& connection) {
    v1::GetReportRequest request;
    request.set_name(audit);
    auto answer = connection.server->GetReport(request);
    if (!answer.ok()) return ServerError(env, kName, answer.status());
    return Tell(env, o, options, answer->report());
  });
}

ExitCode Diagnosed(CommandEnv& env, const DiagnoseOptions& o) {
  auto options = TextOptions(env, o.audit);
  if (!options.ok()) return UsageError(env, kName, options.status().message());
  const bool plans = !o.audit.baseline.empty() || !o.audit.migrated.empty();
  if ((o.source.empty() ? 0 : 1) + (plans ? 1 : 0) + (o.remote_audit.empty() ? 0 : 1) != 1) {
    return UsageError(
        env, kName,
        "give one thing to diagnose: a report (FILE.json), a folder, an AUDIT on the server, or --baseline "
        "and --migrated plans");
  }
  if (!o.remote_audit.empty()) return AskServer(env, o, *options, o.remote_audit);
  if (plans) {
    auto report = AuditPlans(env, o.audit);
    if (!report.ok()) return UsageError(env, kName, report.status().message());
    return Tell(env, o, *options, *report);
  }
  const auto report = FromPath(env, o);
  if (!report.has_value()) {
    // A path that is not there is likelier a slip than an audit's name.
    if (absl::StrContains(o.source, "/") || absl::EndsWith(o.source, ".json")) {
      return UsageError(env, kName, absl::StrCat(DisplayBytes(o.source), ": not there"));
    }
    return AskServer(env, o, *options, o.source);
  }
  if (!report->ok()) return UsageError(env, kName, report->status().message());
  return Tell(env, o, *options, **report);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  DiagnoseOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Text("source", o.source,
                 "a report made by -o json, a folder with report.json or with plans below baseline/ and migrated/, or "
                 "the name of an audit on the server");
  DeclareAuditArguments(arguments, o.audit);
  arguments.Text("--audit", o.remote_audit, "the last run of this audit on the server");
  DeclareRemoteArguments(arguments, o.remote);
  arguments.Text("-o,--output", o.output, "text or json");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kName, o.output, "text")) return *code;
  return Diagnosed(env, o);
}

}  // namespace

extern const Command kDiagnoseCommand;
const Command kDiagnoseCommand = {"diagnose", kSummary, &Run};

}  // namespace paritect
