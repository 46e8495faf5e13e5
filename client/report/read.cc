#include "client/report/read.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "checks/explaining/causes.h"
#include "common/document.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

std::string TextAt(const DocumentNode& node, absl::string_view key) {
  const DocumentNode* found = node.Find(key);
  return found != nullptr && found->is_scalar() ? found->text : "";
}

v1::Text BothTexts(const DocumentNode& node, absl::string_view key) {
  v1::Text text;
  if (const DocumentNode* found = node.Find(key); found != nullptr && found->is_map()) {
    text.set_en(TextAt(*found, "en"));
    text.set_zh(TextAt(*found, "zh"));
  }
  return text;
}

// The items of a list field; none where there is no such list.
const std::vector<DocumentNode>& ListAt(const DocumentNode& node, absl::string_view key) {
  static const auto& none = *new std::vector<DocumentNode>();
  const DocumentNode* found = node.Find(key);
  return found != nullptr && found->is_list() ? found->items : none;
}

v1::Verdict VerdictOf(const std::string& word) {
  if (word == "pass") return v1::VERDICT_PASS;
  return word == "fail" ? v1::VERDICT_FAIL : v1::VERDICT_NOT_PERFORMED;
}

v1::Severity SeverityOf(const std::string& word) {
  if (word == "error") return v1::SEVERITY_ERROR;
  return word == "warning" ? v1::SEVERITY_WARNING : v1::SEVERITY_NOTE;
}

// [{check, kind, subject}]: what the finding follows from (checks/explaining/causes.h).
void ReadCausedBy(const DocumentNode& facts, v1::Finding& finding) {
  const std::vector<DocumentNode>& list = ListAt(facts, kCausedByFact);
  if (list.empty()) return;
  auto& causes = *(*finding.mutable_facts()->mutable_fields())[std::string(kCausedByFact)].mutable_list_value();
  for (const DocumentNode& one : list) {
    auto& fields = *causes.add_values()->mutable_struct_value()->mutable_fields();
    for (const char* name : {"check", "kind", "subject"}) fields[name].set_string_value(TextAt(one, name));
  }
}

void ReadFinding(const DocumentNode& node, v1::Finding& finding) {
  finding.set_severity(SeverityOf(TextAt(node, "severity")));
  finding.set_subject(TextAt(node, "subject"));
  finding.set_kind(TextAt(node, "kind"));
  *finding.mutable_message() = BothTexts(node, "message");
  finding.set_baseline(TextAt(node, "baseline"));
  finding.set_migrated(TextAt(node, "migrated"));
  *finding.mutable_remedy() = BothTexts(node, "remedy");
  for (const DocumentNode& one : ListAt(node, "evidence")) finding.add_evidence(one.text);
  if (const DocumentNode* facts = node.Find("facts"); facts != nullptr && facts->is_map()) {
    for (const auto& [key, value] : facts->fields) {
      double number = 0;
      if (value.is_scalar() && !value.quoted && absl::SimpleAtod(value.text, &number)) {
        (*finding.mutable_facts()->mutable_fields())[key.text].set_number_value(number);
      }
    }
    ReadCausedBy(*facts, finding);
  }
  if (const DocumentNode* waived = node.Find("waived"); waived != nullptr && waived->is_map()) {
    finding.mutable_waived()->set_by(TextAt(*waived, "by"));
    finding.mutable_waived()->set_reason(TextAt(*waived, "reason"));
    finding.mutable_waived()->set_until(TextAt(*waived, "until"));
  }
}

void ReadCheck(const DocumentNode& node, v1::CheckResult& check) {
  check.set_id(TextAt(node, "id"));
  check.set_verdict(VerdictOf(TextAt(node, "verdict")));
  *check.mutable_title() = BothTexts(node, "title");
  check.set_required(TextAt(node, "required") == "true");
  for (const DocumentNode& one : ListAt(node, "findings")) ReadFinding(one, *check.add_findings());
  for (const DocumentNode& one : ListAt(node, "missing")) {
    v1::Missing& missing = *check.add_missing();
    *missing.mutable_what() = BothTexts(one, "what");
    missing.set_from(TextAt(one, "from"));
    *missing.mutable_how() = BothTexts(one, "how");
  }
}

}  // namespace

absl::StatusOr<v1::Report> ReportFromJson(absl::string_view json) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseJson(json));
  if (!root.is_map() || TextAt(root, "schema") != "paritect.report/1" || root.Find("items") == nullptr) {
    return absl::InvalidArgumentError("no report of the schema paritect.report/1 (made by `-o json`)");
  }
  v1::Report report;
  report.set_profile(TextAt(root, "profile"));
  for (const DocumentNode& name : ListAt(root, "overridden_rules")) report.add_overridden_rules(name.text);
  report.set_verdict(VerdictOf(TextAt(root, "verdict")));
  for (const DocumentNode& one : ListAt(root, "items")) {
    v1::ItemResult& item = *report.add_items();
    item.set_id(TextAt(one, "id"));
    item.set_verdict(VerdictOf(TextAt(one, "verdict")));
    *item.mutable_title() = BothTexts(one, "title");
    for (const DocumentNode& check : ListAt(one, "checks")) ReadCheck(check, *item.add_checks());
  }
  return report;
}

}  // namespace paritect
