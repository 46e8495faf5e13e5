// evidence.integrity.records: a question about what a server stores; an audit straight from plans or bundles
// (whose own digests are checked when they are read) stores nothing, so it does not arise.
#include "absl/strings/str_cat.h"
#include "checks/check.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const FleetFacts* fleet = context.evidence.fleet();
  if (fleet == nullptr) {
    AddNote(context, result, "not_applicable/offline", "");
    return;
  }
  for (const std::string& damage : fleet->damaged_records) {
    AddError(context, result, "record_damaged", damage, {{"what", damage}});
  }
  v1::Finding& note = AddNote(context, result, "measured/records", "",
                              {{"records", absl::StrCat(fleet->records_checked)}});
  SetFact(note, "records", fleet->records_checked);
}

}  // namespace

extern const Check kIntegrityRecords;
const Check kIntegrityRecords = {"evidence.integrity.records", {}, &Evaluate};

}  // namespace paritect
