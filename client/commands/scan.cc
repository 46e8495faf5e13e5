// paritect scan DIR: the faults that training scripts and configuration files show by themselves, like a linter for
// migration: where, why it endangers precision, and what to do. Ends with 0 when nothing is an error, 1 when something
// is, 2 when it cannot be told. A comment `# paritect: allow KIND: reason` on the line or the one before it waives.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collectors/script_files.h"
#include "checks/scripts/faults.h"
#include "client/commands/scan_settings.h"
#include "client/render/table_writer.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/verbs.h"
#include "common/utf8.h"
#include "common/version.h"
#include "report/language.h"
#include "report/terminal.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kName = "paritect scan";
constexpr absl::string_view kSummary =
    "find what endangers precision in training scripts and settings: file, line, why, remedy";

class Scan {
 public:
  Scan(const Rules& rules, const v1::ScriptTree& tree) : rules_(rules), tree_(tree) {}

  std::vector<ScanFinding> Run() {
    for (const std::string& entry : tree_.entries()) Add(ScriptFlow::OfEntry(tree_, entry));
    Add(ScriptFlow::OfEntry(tree_, ""));  // what no entry reaches
    std::sort(findings_.begin(), findings_.end(), [](const ScanFinding& a, const ScanFinding& b) {
      return std::tie(a.file, a.line, a.kind) < std::tie(b.file, b.line, b.kind);
    });
    return std::move(findings_);
  }

 private:
  void Add(const ScriptFlow& flow) {
    for (const ScriptFault& fault : FindScriptFaults(flow)) {
      ScanFinding finding;
      finding.kind = std::string(fault.message.substr(0, fault.message.find('/')));
      finding.check = std::string(fault.check);
      finding.severity = fault.severity;
      finding.file = fault.fact->file();
      finding.line = fault.fact->line();
      finding.message = rules_.messages.Say(fault.message, fault.args);
      finding.remedy = rules_.messages.Fix(fault.message, fault.args);
      for (const v1::ScriptFact* place : fault.evidence)
        finding.evidence.push_back(StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
      finding.waived = Waived(finding, fault);
      // Several entries reach one line.
      if (seen_.insert(StrCat(finding.kind, " ", finding.file, ":", finding.line)).second)
        findings_.push_back(std::move(finding));
    }
  }

  // The reason of a comment that waives the finding, at its place or at one of its evidence; "" where none does.
  std::string Waived(const ScanFinding& finding, const ScriptFault& fault) const {
    std::string reason = At(finding.kind, finding.file, finding.line);
    for (const v1::ScriptFact* place : fault.evidence) {
      if (reason.empty()) reason = At(finding.kind, place->file(), place->line());
    }
    return reason;
  }

  std::string At(const std::string& kind, const std::string& path, std::int64_t line) const {
    for (const v1::ScriptFile& file : tree_.files()) {
      if (file.path() != path) continue;
      for (const v1::ScriptWaiver& waiver : file.waivers()) {
        // Without a reason it waives nothing.
        if (waiver.kind() == kind && !waiver.reason().empty() && (waiver.line() == line || waiver.line() + 1 == line))
          return waiver.reason();
      }
    }
    return "";
  }

  const Rules& rules_;
  const v1::ScriptTree& tree_;
  std::vector<ScanFinding> findings_;
  std::set<std::string> seen_;
};

OrderedJson TextJson(const v1::Text& text) {
  return {{"en", text.en()}, {"zh", text.zh()}};
}

OrderedJson ToJson(const std::vector<ScanFinding>& findings, const v1::ScriptTree& tree, std::size_t settings) {
  OrderedJson json;
  json["schema"] = "paritect.scan/1";
  json["entries"] = std::vector<std::string>(tree.entries().begin(), tree.entries().end());
  json["whole"] = tree.whole();
  json["settings_files"] = settings;
  json["findings"] = OrderedJson::array();
  for (const ScanFinding& one : findings) {
    json["findings"].push_back({{"severity", SeverityWord(one.severity)},
                                {"kind", one.kind},
                                {"check", one.check},
                                {"file", one.file},
                                {"line", one.line},
                                {"message", TextJson(one.message)},
                                {"remedy", TextJson(one.remedy)},
                                {"evidence", one.evidence},
                                {"waived", one.waived.empty() ? OrderedJson(nullptr) : OrderedJson(one.waived)}});
  }
  json["notes"] = OrderedJson::array();
  for (const v1::Note& note : tree.notes())
    json["notes"].push_back({{"kind", note.kind()}, {"message", note.message()}});
  return json;
}

// SARIF 2.1.0: one rule a kind; a waived finding carries a suppression.
OrderedJson ToSarif(const std::vector<ScanFinding>& findings) {
  OrderedJson rules = OrderedJson::array();
  OrderedJson results = OrderedJson::array();
  std::set<std::string> kinds;
  for (const ScanFinding& one : findings) {
    if (kinds.insert(one.kind).second) {
      rules.push_back({{"id", one.kind},
                       {"shortDescription", {{"text", one.check}}},
                       {"help", {{"text", one.remedy.en().empty() ? one.kind : one.remedy.en()}}}});
    }
    OrderedJson result = {
        {"ruleId", one.kind},
        {"level", SeverityWord(one.severity)},
        {"message", {{"text", one.message.en()}}},
        {"locations", OrderedJson::array({{{"physicalLocation",
                                            {{"artifactLocation", {{"uri", one.file}}},
                                             {"region", {{"startLine", std::max<std::int64_t>(one.line, 1)}}}}}}})}};
    if (!one.waived.empty())
      result["suppressions"] = OrderedJson::array({{{"kind", "inSource"}, {"justification", one.waived}}});
    results.push_back(std::move(result));
  }
  OrderedJson json;
  json["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  json["version"] = "2.1.0";
  json["runs"] = OrderedJson::array(
      {{{"tool", {{"driver", {{"name", "paritect"}, {"version", kProgramVersion}, {"rules", rules}}}}},
        {"results", results}}});
  return json;
}

void PrintText(CommandEnv& env, const RenderOptions& render, const std::vector<ScanFinding>& findings,
               const v1::ScriptTree& tree, const SettingsScan& settings) {
  TableWriter w(render, env.out);
  const auto say = [&](absl::string_view id, const MessageArgs& args) {
    return InAll(render.languages, env.rules.messages.Say(id, args));
  };
  int errors = 0;
  int waived = 0;
  for (const ScanFinding& one : findings) {
    const bool is_waived = !one.waived.empty();
    waived += is_waived ? 1 : 0;
    errors += !is_waived && one.severity == v1::SEVERITY_ERROR ? 1 : 0;
    const Style style = is_waived                              ? Style::kDim
                        : one.severity == v1::SEVERITY_ERROR   ? Style::kRed
                        : one.severity == v1::SEVERITY_WARNING ? Style::kYellow
                                                               : Style::kDim;
    w.Wrapped(0, one.line > 0 ? StrCat(one.file, ":", one.line, ":") : StrCat(one.file, ":"),
              StrCat(SeverityWord(one.severity), " ", one.kind, is_waived ? StrCat(" (", one.waived, ")") : ""), style);
    w.WrappedText(2, "", one.message);
    const std::string fix = StrCat(say("ui_scan_fix", {}), LabelColon(render.languages[0]));
    if (!is_waived) w.WrappedText(2, fix, one.remedy, Style::kDim);
  }
  for (const v1::Note& note : tree.notes()) w.Wrapped(0, "", note.message(), Style::kDim);
  if (settings.cut) w.Wrapped(0, "", say("ui_scan_settings_cut", {{"files", StrCat(settings.files)}}), Style::kDim);
  w.Wrapped(0, "",
            say("ui_scan_counts", {{"files", StrCat(tree.files_size())},
                                   {"settings", StrCat(settings.files)},
                                   {"entries", StrCat(tree.entries_size())},
                                   {"errors", StrCat(errors)},
                                   {"findings", StrCat(findings.size())},
                                   {"waived", StrCat(waived)}}));
}

struct ScanOptions {
  std::vector<std::string> paths;
  std::string entry;
  std::string output = "text";
  AuditArguments common;
};

ExitCode ScanTree(CommandEnv& env, const ScanOptions& o) {
  const auto fail = [&env](absl::string_view message) { return UsageError(env, kName, message); };
  if (o.paths.size() != 1) return fail("give one folder or script");
  if (o.output != "text" && o.output != "json" && o.output != "sarif")
    return fail(StrCat("-o ", o.output, ": not supported by this version; there are text, json, sarif"));
  auto render = TextOptions(env, o.common);
  if (!render.ok()) return fail(render.status().message());
  std::vector<ScriptSourceFile> files;
  ScriptOptions options;
  options.entry = o.entry;
  const absl::Status status = AddScriptFiles(env.fs, o.paths[0], "", files, options.entry);
  if (!status.ok()) return fail(StrCat(DisplayBytes(o.paths[0]), ": ", status.message()));
  const bool scripts = HoldScripts(files);
  const SettingsScan settings = ScanSettings(env, o.paths[0]);
  if (!scripts && settings.files == 0)
    return fail(StrCat(DisplayBytes(o.paths[0]), ": no Python file and no settings in it"));
  const v1::ScriptTree tree = ReadScripts(std::move(files), options, env.rules.scripts);
  std::vector<ScanFinding> findings = Scan(env.rules, tree).Run();
  findings.insert(findings.end(), settings.findings.begin(), settings.findings.end());
  if (o.output == "json") {
    env.out << DumpJson(ToJson(findings, tree, settings.files)) << "\n";
  } else if (o.output == "sarif") {
    env.out << DumpJson(ToSarif(findings)) << "\n";
  } else {
    PrintText(env, *render, findings, tree, settings);
  }
  const bool failed = std::any_of(findings.begin(), findings.end(), [](const ScanFinding& one) {
    return one.severity == v1::SEVERITY_ERROR && one.waived.empty();
  });
  if (failed) return kExitFailed;
  // That nothing was found where the code could not be read tells nothing.
  return tree.whole() || !scripts ? kExitOk : kExitUsage;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  ScanOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Texts("path", o.paths, "a folder of training scripts, or the script that a run starts", true);
  arguments.Text("--entry", o.entry, "the script that the run starts, where a folder holds several");
  arguments.Text("-o,--output", o.output, "text, json or sarif");
  arguments.Text("--lang", o.common.lang, "en, zh, or both as en,zh");
  arguments.Text("--color", o.common.colour, "auto, always or never");
  if (const auto answer = ParseOrAnswer(env, kName, arguments, args)) return *answer;
  return ScanTree(env, o);
}

}  // namespace

extern const Command kScanCommand;
const Command kScanCommand = {"scan", kSummary, &Run};

}  // namespace paritect
