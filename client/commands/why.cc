// paritect why ID[@NODE]: the evidence chain of one check (or of all checks of an item).
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "checks/runner.h"
#include "client/diff/compared_settings.h"
#include "client/remote/remote_evidence.h"
#include "client/render/table_writer.h"
#include "client/report/audit_options.h"
#include "client/report/evidence_chain.h"
#include "client/report/limits_text.h"
#include "client/report/offline_audit.h"
#include "client/verbs.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect why";
constexpr absl::string_view kSummary = "show the values, sources and thresholds behind one check's verdict";

struct Question {
  std::string item;
  std::string check;  // "": all of the item
  std::string node;   // "": all
};

absl::StatusOr<Question> ParseQuestion(const Rules& rules, const std::string& text) {
  Question question;
  const auto at = text.find('@');
  const std::string id = text.substr(0, at);
  if (at != std::string::npos) question.node = text.substr(at + 1);
  if (rules.catalogue.FindItem(id) != nullptr) {
    question.item = id;
    return question;
  }
  if (rules.catalogue.FindCheck(id) != nullptr) {
    question.item = id.substr(0, id.rfind('.'));
    question.check = id;
    return question;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no check or item '", id, "'",
                                                 DidYouMean(id, CatalogueIds(rules, true)),
                                                 " (`paritect explain` lists all)"));
}

// One check with all that stands behind it.
struct Answer {
  const v1::CheckResult& result;
  const CatalogueCheck& check;
  std::vector<EvidencePiece> pieces;
  std::vector<ComparedSettings> compared;  // of checks over settings
};

class Printer {
 public:
  Printer(const Rules& rules, const Profile& profile, const RenderOptions& options, std::ostream& out)
      : rules_(rules), profile_(profile), options_(options), w_(options, out) {}

  void Print(const Answer& answer) {
    const v1::CheckResult& result = answer.result;
    w_.Wrapped(0, result.id(), InAll(options_.languages, result.title()), Style::kBold);
    w_.Wrapped(2, absl::StrCat(Say("ui_verdict"), LabelColon(options_.languages[0])),
               VerdictName(rules_, options_.languages, result.verdict()), Style::kDim);
    w_.WrappedText(2, absl::StrCat(Say("ui_rule"), LabelColon(options_.languages[0])), answer.check.rule, Style::kDim);
    const std::vector<std::string> limits = LimitsInForce(rules_, profile_, answer.check, options_.languages);
    if (!limits.empty()) {
      w_.Wrapped(2, absl::StrCat(Say("ui_limits"), LabelColon(options_.languages[0])),
                 absl::StrJoin(limits, ListSeparator(options_.languages[0])), Style::kDim);
    }
    Attested(result);
    if (result.findings_size() > 0) w_.Line(absl::StrCat("  ", w_.Paint(Say("ui_findings"), Style::kBold)));
    for (const v1::Finding& finding : result.findings()) Finding(finding, answer.pieces);
    if (result.findings_total() > result.findings_size()) {
      w_.Wrapped(4, "", Say("ui_more", {{"count", absl::StrCat(result.findings_total() - result.findings_size())}}));
    }
    if (result.missing_size() > 0) w_.Line(absl::StrCat("  ", w_.Paint(Say("ui_missing"), Style::kBold)));
    for (const v1::Missing& missing : result.missing()) Missing(missing);
    for (const ComparedSettings& one : answer.compared) Compared(one);
    w_.Line(absl::StrCat("  ", w_.Paint(Say("ui_evidence_chain"), Style::kBold)));
    for (const EvidencePiece& piece : answer.pieces) Piece(piece);
    if (answer.pieces.empty()) w_.Wrapped(4, "", Say("ui_no_evidence"));
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(rules_, options_.languages, id, args);
  }

  void Attested(const v1::CheckResult& result) {
    if (!result.has_attested()) return;
    const v1::Attestation& a = result.attested();
    w_.Wrapped(2, "", Say("ui_attested_by", {{"by", a.by()}, {"until", a.until()}, {"reason", a.reason()}}));
  }

  // Whose source it is: of two the first is the baseline's; else the side that alone gave evidence of that name. ""
  // where that is not known.
  std::string SideOf(const v1::Finding& finding, int number, const std::vector<EvidencePiece>& pieces) const {
    if (finding.evidence_size() == 2 && !finding.baseline().empty() && !finding.migrated().empty())
      return Say(number == 0 ? "ui_baseline" : "ui_migrated");
    const std::string& source = finding.evidence(number);
    std::string side;
    for (const EvidencePiece& piece : pieces) {
      if (piece.source.empty() || !absl::StartsWith(source, piece.source)) continue;
      if (!side.empty() && side != piece.side) return "";
      side = piece.side;
    }
    return side.empty() ? "" : Say(absl::StrCat("ui_", side));
  }

  void Finding(const v1::Finding& finding, const std::vector<EvidencePiece>& pieces) {
    const std::string severity = Say(absl::StrCat("severity_", SeverityWord(finding.severity())));
    w_.Wrapped(4, absl::StrCat(severity, " ", finding.kind()), finding.subject(), Style::kBold);
    w_.WrappedText(6, "", finding.message());
    Value("ui_baseline", ValueIn(options_.languages[0], finding.baseline()));
    Value("ui_migrated", ValueIn(options_.languages[0], finding.migrated()));
    for (int i = 0; i < finding.evidence_size(); ++i) {
      const std::string side = SideOf(finding, i, pieces);
      Value("ui_source",
            side.empty() ? finding.evidence(i) : absl::StrCat(side, Colon(options_.languages[0]), finding.evidence(i)));
    }
    const OrderedJson facts = FindingToJson(finding)["facts"];
    std::vector<std::string> figures;
    for (const auto& [name, value] : facts.items()) figures.push_back(absl::StrCat(name, " ", DumpJson(value, -1)));
    Value("ui_facts", absl::StrJoin(figures, options_.languages[0] == Language::kChinese ? "，" : ", "));
    if (finding.has_waived()) {
      const v1::Waiver& waiver = finding.waived();
      w_.Wrapped(6, "",
                 Say("ui_waived_by", {{"by", waiver.by()}, {"until", waiver.until()}, {"reason", waiver.reason()}}));
    }
    if (!finding.remedy().en().empty())
      w_.WrappedText(6, absl::StrCat(Say("ui_fix"), LabelColon(options_.languages[0])), finding.remedy(),
                     Style::kGreen);
  }

  // "weight_decay  0.1 (a.log:12) = 0.1 (b.log:15)", key by key.
  void Compared(const ComparedSettings& one) {
    if (one.rows.empty()) return;
    const std::string head = Say("ui_compared", {{"baseline", one.baseline_run}, {"migrated", one.migrated_run}});
    w_.Line(absl::StrCat("  ", w_.Paint(head, Style::kBold)));
    for (const SettingRow& row : one.rows) {
      const auto value = [&](const std::string& text, const std::string& origin, bool there) {
        if (!there) return Say("ui_diff_not_there");
        return origin.empty() ? text : absl::StrCat(text, " (", origin, ")");
      };
      const bool equal = row.relation == SettingRow::Relation::kEqual;
      w_.Wrapped(
          4, row.key,
          absl::StrCat(value(row.baseline, row.baseline_origin, row.relation != SettingRow::Relation::kOnlyMigrated),
                       equal ? " = " : absl::StrCat(" ", w_.against(), " "),
                       value(row.migrated, row.migrated_origin, row.relation != SettingRow::Relation::kOnlyBaseline)),
          equal ? Style::kDim : Style::kBold);
    }
  }

  void Value(absl::string_view label_id, const std::string& value) {
    if (!value.empty())
      w_.Wrapped(6, absl::StrCat(Say(label_id), LabelColon(options_.languages[0])), value, Style::kDim);
  }

  void Missing(const v1::Missing& missing) {
    w_.WrappedText(4, "", missing.what());
    if (!missing.from().empty()) Value("ui_from", missing.from());
    if (!missing.how().en().empty())
      w_.WrappedText(6, absl::StrCat(Say("ui_get"), LabelColon(options_.languages[0])), missing.how(), Style::kGreen);
  }

  void Piece(const EvidencePiece& piece) {
    std::string where = absl::StrCat(Say(absl::StrCat("ui_", piece.side)), w_.dot(), piece.run, w_.dot(), piece.node);
    if (piece.rank >= 0) absl::StrAppend(&where, w_.dot(), "rank ", piece.rank);
    w_.Wrapped(4, where, absl::StrCat(Say(absl::StrCat("kind_", piece.kind)), w_.dot(), piece.source), Style::kDim);
    std::string text = absl::StrCat(Say(absl::StrCat("outcome_", piece.outcome)), Colon(options_.languages[0]),
                                    InAll(options_.languages, piece.content));
    if (!piece.collected_at.empty()) {
      absl::StrAppend(&text, w_.dot(),
                      Say("ui_collected_at", {{"when", piece.collected_at}, {"by", piece.collected_by}}));
    }
    w_.Wrapped(6, "", text);
  }

  const Rules& rules_;
  const Profile& profile_;
  const RenderOptions& options_;
  TableWriter w_;
};

OrderedJson AnswerToJson(const Answer& answer, const Profile& profile) {
  OrderedJson json;
  json["check"] = CheckToJson(answer.result);
  json["rule"] = {{"en", answer.check.rule.en()}, {"zh", answer.check.rule.zh()}};
  json["profile"] = profile.name;
  json["limits"] = OrderedJson::object();
  for (const std::string& name : answer.check.limits) json["limits"][name] = profile.threshold(name);
  if (!answer.compared.empty()) json["compared"] = ComparedToJson(answer.compared);
  json["evidence"] = OrderedJson::array();
  for (const EvidencePiece& piece : answer.pieces) json["evidence"].push_back(PieceToJson(piece));
  return json;
}

struct WhyOptions {
  std::string question;
  std::string output = "text";
  AuditArguments audit;
  std::string remote_audit;
  RemoteArguments remote;
};

// What the question is asked of: evidence, the profile that judges it, and the report.
struct Material {
  std::unique_ptr<EvidenceSet> evidence;
  Profile profile;
  v1::Report report;
};

absl::StatusOr<Material> LocalMaterial(CommandEnv& env, WhyOptions& o, const Question& question) {
  PARITECT_RETURN_IF_ERROR(TakeSides(o.audit));
  Material material;
  PARITECT_ASSIGN_OR_RETURN(material.profile, LoadProfile(env, o.audit.profile, o.audit.answers));
  o.audit.reading.only = CollectorsFor(env.rules, {question.item});
  PARITECT_ASSIGN_OR_RETURN(AuditInput input, LoadAuditInput(env, o.audit));
  material.evidence = std::move(input.evidence);
  AuditOptions audit;
  audit.items = {question.item};
  audit.today = env.today;
  material.report = RunAudit(*material.evidence, material.profile, env.rules, audit);
  return material;
}

// The report as the server judged it, with what it judged.
absl::StatusOr<Material> ServerMaterial(CommandEnv& env, const WhyOptions& o, RemoteServer& server) {
  v1::GetReportRequest request;
  request.set_name(o.remote_audit);
  PARITECT_ASSIGN_OR_RETURN(const v1::GetReportResponse answer, server.GetReport(request));
  Material material;
  material.report = answer.report();
  PARITECT_ASSIGN_OR_RETURN(material.profile, ReadAuditProfile(answer.run().definition(), env.rules.profile));
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> baseline, LoadAuditSide(server, o.remote_audit, Side::kBaseline));
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> migrated, LoadAuditSide(server, o.remote_audit, Side::kMigrated));
  material.evidence = std::make_unique<EvidenceSet>(std::move(baseline), std::move(migrated));
  return material;
}

ExitCode Answers(CommandEnv& env, const WhyOptions& o, const Question& question, const RenderOptions& options,
                 const Material& material) {
  const std::vector<std::string> nodes = NodesOf(*material.evidence);
  if (!question.node.empty() && std::find(nodes.begin(), nodes.end(), question.node) == nodes.end()) {
    return UsageError(
        env, kName, absl::StrCat("no evidence of node '", question.node, "'; there are ", absl::StrJoin(nodes, ", ")));
  }
  OrderedJson list = OrderedJson::array();
  Printer printer(env.rules, material.profile, options, env.out);
  ExitCode code = kExitOk;
  for (const v1::ItemResult& item : material.report.items()) {
    for (const v1::CheckResult& result : item.checks()) {
      if (item.id() != question.item || (!question.check.empty() && result.id() != question.check)) continue;
      const CatalogueCheck* check = env.rules.catalogue.FindCheck(result.id());
      if (check == nullptr) continue;  // of a server of a later version
      const Answer answer = {result, *check, EvidenceOf(*material.evidence, env.rules, *check, question.node),
                             ComparedSettingsOf(*material.evidence, env.rules, material.profile, result.id())};
      if (result.verdict() == v1::VERDICT_FAIL) code = kExitFailed;
      if (o.output == "json") {
        list.push_back(AnswerToJson(answer, material.profile));
      } else {
        printer.Print(answer);
      }
    }
  }
  if (o.output == "json") env.out << DumpJson(question.check.empty() || list.empty() ? list : list[0]) << "\n";
  return code;
}

ExitCode Ask(CommandEnv& env, WhyOptions& o) {
  auto question = ParseQuestion(env.rules, o.question);
  if (!question.ok()) return UsageError(env, kName, question.status().message());
  auto options = TextOptions(env, o.audit);
  if (!options.ok()) return UsageError(env, kName, options.status().message());
  if (o.remote_audit.empty()) {
    auto material = LocalMaterial(env, o, *question);
    if (!material.ok()) return UsageError(env, kName, material.status().message());
    return Answers(env, o, *question, *options, *material);
  }
  if (!o.audit.sides.empty() || !o.audit.baseline.empty() || !o.audit.migrated.empty() || !o.audit.profile.empty() ||
      !o.audit.answers.empty()) {
    return UsageError(env, kName, "--audit asks a server's audit, which has its own sides, profile and answers");
  }
  return WithServer(env, kName, o.remote, [&](Connection& connection) {
    auto material = ServerMaterial(env, o, *connection.server);
    if (!material.ok()) return ServerError(env, kName, material.status());
    return Answers(env, o, *question, *options, *material);
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  WhyOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Text("id", o.question, "check or item, with @NODE for one node's evidence only", true);
  arguments.Texts("sides", o.audit.sides, "folder of the baseline run, then of the migrated run (or plans, bundles)");
  DeclareAuditArguments(arguments, o.audit);
  arguments.Text("--audit", o.remote_audit, "ask the last run of this audit on the server, in place of plans");
  DeclareRemoteArguments(arguments, o.remote);
  arguments.Text("-o,--output", o.output, "text or json");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kName, o.output, "text")) return *code;
  return Ask(env, o);
}

}  // namespace

extern const Command kWhyCommand;
const Command kWhyCommand = {"why", kSummary, &Run};

}  // namespace paritect
