// evidence.integrity.audit-log: a question about what a server stores; an audit straight from plans or bundles
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
  if (!fleet->log_fault.empty()) {
    AddError(context, result, "log_chain_broken", "", {{"what", fleet->log_fault}});
    return;
  }
  v1::Finding& note = AddNote(context, result, "measured/log_entries", "",
                              {{"entries", absl::StrCat(fleet->log_entries)}});
  SetFact(note, "entries", fleet->log_entries);
}

}  // namespace

extern const Check kIntegrityAuditLog;
const Check kIntegrityAuditLog = {"evidence.integrity.audit-log", {}, &Evaluate};

}  // namespace paritect
