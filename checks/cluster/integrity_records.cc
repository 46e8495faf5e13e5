// evidence.integrity.records: is the evidence what it was when it was made? Of what a server stores the digests say so;
// an audit straight from plans or bundles (whose own digests are checked when they are read) stores nothing. And a
// record that contradicts itself is none, wherever it lies.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/contradictions.h"
#include "rules/contradictions.h"

namespace paritect {
namespace {

// The two places are shown in the column of the side that tells them.
int ReportContradictions(const CheckContext& context, v1::CheckResult& result) {
  int found = 0;
  for (const Side side : kBothSides) {
    for (const Told& one : ContradictionsOf(context, side)) {
      const auto& kinds = BuiltInContradictions().kinds;
      const auto rule = kinds.find(one.kind);
      const std::string message = absl::StrCat("record_contradiction/", rule == kinds.end() ? "other" : one.kind);
      const bool error = rule == kinds.end() || rule->second.error;
      v1::Finding& finding = AddFinding(context, result, error ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, message,
                                        one.where, {{"rank", one.where}, {"told", one.told}, {"other", one.other}});
      const std::string values = absl::StrCat(one.told, " / ", one.other);
      (side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())->assign(values);
      SetFact(finding, "contradiction", one.kind);
      finding.add_evidence(one.origin);
      ++found;
    }
  }
  return found;
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const int contradictions = ReportContradictions(context, result);
  if (contradictions == 0 && AnyObserved(context)) AddNote(context, result, "measured/records_agree", "");
  const FleetFacts* fleet = context.evidence.fleet();
  if (fleet == nullptr) {
    if (contradictions == 0 && !AnyObserved(context)) AddNote(context, result, "not_applicable/offline", "");
    return;
  }
  for (const std::string& damage : fleet->damaged_records) {
    AddError(context, result, "record_damaged", damage, {{"what", damage}});
  }
  v1::Finding& note =
      AddNote(context, result, "measured/records", "", {{"records", absl::StrCat(fleet->records_checked)}});
  SetFact(note, "records", fleet->records_checked);
}

}  // namespace

extern const Check kIntegrityRecords;
const Check kIntegrityRecords = {"evidence.integrity.records", {}, &Evaluate};

}  // namespace paritect
