#include "report/json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "checks/causes.h"
#include "checks/explaining/openings.h"
#include "common/digest.h"
#include "common/utf8.h"
#include "common/version.h"
#include "report/summary.h"
#include "rules/rules.h"

namespace paritect {
namespace {

OrderedJson FactsToJson(const google::protobuf::Struct& facts);

OrderedJson ValueToJson(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kNumberValue: {
      const double number = value.number_value();
      const auto whole = static_cast<std::int64_t>(number);
      // Counts are printed as counts.
      if (number > -9e15 && number < 9e15 && static_cast<double>(whole) == number) return whole;
      return number;
    }
    case google::protobuf::Value::kStringValue: return value.string_value();
    case google::protobuf::Value::kBoolValue: return value.bool_value();
    case google::protobuf::Value::kListValue: {
      OrderedJson list = OrderedJson::array();
      for (const auto& item : value.list_value().values()) list.push_back(ValueToJson(item));
      return list;
    }
    case google::protobuf::Value::kStructValue: return FactsToJson(value.struct_value());
    default: return nullptr;
  }
}

OrderedJson FactsToJson(const google::protobuf::Struct& facts) {
  std::map<std::string, const google::protobuf::Value*> sorted;
  for (const auto& [name, value] : facts.fields()) sorted[name] = &value;
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, value] : sorted) json[name] = ValueToJson(*value);
  return json;
}

}  // namespace

OrderedJson TextToJson(const v1::Text& text) {
  return {{"en", text.en()}, {"zh", text.zh()}};
}

OrderedJson FindingToJson(const v1::Finding& finding) {
  OrderedJson json;
  json["severity"] = SeverityWord(finding.severity());
  json["subject"] = JsonText(finding.subject());
  if (!IsValidUtf8(finding.subject())) json["subject_b64"] = absl::Base64Escape(finding.subject());
  json["kind"] = finding.kind();
  json["message"] = TextToJson(finding.message());
  json["baseline"] = finding.baseline();
  json["migrated"] = finding.migrated();
  json["facts"] = FactsToJson(finding.facts());
  json["evidence"] = OrderedJson::array();
  for (const std::string& evidence : finding.evidence()) json["evidence"].push_back(JsonText(evidence));
  json["waived"] = nullptr;
  if (finding.has_waived()) {
    const v1::Waiver& w = finding.waived();
    json["waived"] = {{"by", w.by()}, {"reason", w.reason()}, {"until", w.until()}, {"ref", w.ref()}};
  }
  json["remedy"] = TextToJson(finding.remedy());
  if (finding.nodes_size() > 0)
    json["nodes"] = std::vector<std::string>(finding.nodes().begin(), finding.nodes().end());
  return json;
}

OrderedJson CheckToJson(const v1::CheckResult& check, ListForm form) {
  OrderedJson json;
  json["id"] = check.id();
  json["title"] = TextToJson(check.title());
  json["verdict"] = VerdictWord(check.verdict());
  json["required"] = check.required();
  if (check.waived() > 0) json["waived"] = check.waived();
  if (check.has_attested()) {
    const v1::Attestation& a = check.attested();
    json["attested"] = {{"by", a.by()}, {"reason", a.reason()}, {"until", a.until()}};
  }
  json["findings"] = OrderedJson::array();
  for (const v1::Finding& finding : check.findings()) json["findings"].push_back(FindingToJson(finding));
  json["missing"] = OrderedJson::array();
  for (const v1::Missing& missing : check.missing()) {
    json["missing"].push_back(
        {{"what", TextToJson(missing.what())}, {"from", missing.from()}, {"how", TextToJson(missing.how())}});
  }
  if (form == ListForm::kColumns) {
    for (const char* const list : {"findings", "missing"}) json[list] = PackRows(std::move(json[list]));
  }
  return json;
}

namespace {

OrderedJson SideToJson(const v1::ReportSide& side) {
  OrderedJson runs = OrderedJson::array();
  for (const v1::ReportRun& run : side.runs()) {
    OrderedJson nodes = OrderedJson::array();
    for (const std::string& node : run.nodes()) nodes.push_back(JsonText(node));
    runs.push_back({{"run", JsonText(run.name())}, {"role", run.role()}, {"nodes", nodes}});
  }
  return runs;
}

OrderedJson MetaToJson(const v1::ReportMeta& meta) {
  OrderedJson json = {
      {"time", TimeText(meta.at_unix_ms())}, {"host", JsonText(meta.host())}, {"version", meta.version()}};
  if (!meta.audit().empty()) json["audit"] = JsonText(meta.audit());
  if (meta.run() > 0) json["run"] = meta.run();
  return json;
}

OrderedJson SignatureToJson(const v1::ReportSignature& signature) {
  return {{"algorithm", "ed25519"},
          {"public_key", absl::Base64Escape(signature.public_key())},
          {"key_sha256", ToHex(Sha256(signature.public_key()))},
          {"value", absl::Base64Escape(signature.value())}};
}

OrderedJson OpeningsToJson(const v1::Report& report) {
  OrderedJson list = OrderedJson::array();
  for (const OpenedChecks& opened : WhatOpensMost(BuiltInRules().messages, BuiltInOpenings(), report)) {
    OrderedJson checks = OrderedJson::array();
    for (const v1::CheckResult* check : opened.checks) checks.push_back(check->id());
    list.push_back(
        {{"id", opened.id}, {"do", TextToJson(opened.action)}, {"checks", checks}, {"required", opened.required}});
  }
  return list;
}

}  // namespace

namespace {

// The answer as every format gives it.
OrderedJson SentenceToJson(const v1::Report& report, const std::vector<Cause>& causes) {
  OrderedJson json;
  for (const auto& [name, language] : {std::pair("en", Language::kEnglish), std::pair("zh", Language::kChinese)}) {
    const std::string incomplete = IncompleteSentence(BuiltInRules(), language, report);
    json[name] = JsonText(absl::StrCat(VerdictSentence(BuiltInRules(), language, report, causes),
                                       incomplete.empty() || language == Language::kChinese ? "" : " ", incomplete));
  }
  return json;
}

OrderedJson CausesOfReport(const v1::Report& report, const std::vector<Cause>& causes) {
  const CauseRules& rules = BuiltInCauses();
  OrderedJson list = OrderedJson::array();
  for (const Cause& cause : causes) {
    OrderedJson one = {{"check", cause.check->id()}, {"kind", cause.findings[0]->kind()}};
    one["title"] = {{"en", JsonText(BriefCause(BuiltInRules(), Language::kEnglish, report, cause))},
                    {"zh", JsonText(BriefCause(BuiltInRules(), Language::kChinese, report, cause))}};
    one["stage"] = cause.stage < rules.stages.size() ? rules.stages[cause.stage].id : "";
    one["findings"] = cause.findings.size();
    one["consequences"] = OrderedJson::array();
    for (const Consequence& consequence : cause.consequences) {
      one["consequences"].push_back({{"check", consequence.check->id()},
                                     {"kind", consequence.findings[0]->kind()},
                                     {"findings", consequence.findings.size()},
                                     {"because", TextToJson(consequence.because)}});
    }
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

OrderedJson CausesToJson(const v1::Report& report) {
  return CausesOfReport(report, CausesOf(BuiltInCauses(), report));
}

OrderedJson ReportToJson(const v1::Report& report, const ReportCompanion& companion, ListForm form) {
  OrderedJson json;
  json["schema"] = "paritect.report/1";
  json["verdict"] = VerdictWord(report.verdict());
  const std::vector<Cause> causes = CausesOf(BuiltInCauses(), report);
  json["sentence"] = SentenceToJson(report, causes);
  json["profile"] = report.profile();
  for (const std::string& name : report.overridden_rules()) json["overridden_rules"].push_back(name);
  json["tool"] = absl::StrCat("paritect ", kProgramVersion);
  if (companion.meta != nullptr) json["meta"] = MetaToJson(*companion.meta);
  json["sides"] = {{"baseline", SideToJson(report.baseline())}, {"migrated", SideToJson(report.migrated())}};
  int counts[3] = {0, 0, 0};
  for (const v1::ItemResult& item : report.items()) {
    ++counts[item.verdict() == v1::VERDICT_PASS ? 0 : item.verdict() == v1::VERDICT_FAIL ? 1 : 2];
  }
  json["counts"] = {{"pass", counts[0]}, {"fail", counts[1]}, {"not_performed", counts[2]}};
  json["items"] = OrderedJson::array();
  for (const v1::ItemResult& item : report.items()) {
    OrderedJson one;
    one["id"] = item.id();
    one["title"] = TextToJson(item.title());
    one["verdict"] = VerdictWord(item.verdict());
    one["checks"] = OrderedJson::array();
    for (const v1::CheckResult& check : item.checks()) one["checks"].push_back(CheckToJson(check, form));
    json["items"].push_back(std::move(one));
  }
  json["causes"] = CausesOfReport(report, causes);
  json["openings"] = OpeningsToJson(report);
  const v1::Coverage& c = report.coverage();
  json["coverage"] = {{"nodes", {{"expected", c.nodes_expected()}, {"reported", c.nodes_reported()}}},
                      {"ranks", {{"expected", c.ranks_expected()}, {"reported", c.ranks_reported()}}}};
  json["warnings"] = OrderedJson::array();
  for (const v1::Text& warning : report.warnings()) json["warnings"].push_back(TextToJson(warning));
  if (companion.signature != nullptr) json["signature"] = SignatureToJson(*companion.signature);
  return json;
}

std::string DumpJson(const OrderedJson& json, int indent) {
  return JsonEscapes(json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace));
}

}  // namespace paritect
