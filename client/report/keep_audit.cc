#include "client/report/keep_audit.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "storage/store.h"

namespace paritect {
namespace {

std::string FirstRun(const EvidenceSet& evidence, Side side) {
  const std::vector<v1::Bundle>& bundles = evidence.bundles(side);
  return bundles.empty() ? "-" : bundles[0].plan().run();
}

}  // namespace

absl::Status KeepAudit(const CommandEnv& env, const std::string& file, const EvidenceSet& evidence,
                       const v1::Report& report) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenStore(absl::StrCat("sqlite:", file)));
  const std::string name =
      absl::StrCat(FirstRun(evidence, Side::kBaseline), " / ", FirstRun(evidence, Side::kMigrated));
  PARITECT_ASSIGN_OR_RETURN(const AuditId audit, store->CreateAudit(name, env.today));
  for (Side side : kBothSides) {
    const StoredSide stored = side == Side::kBaseline ? StoredSide::kBaseline : StoredSide::kMigrated;
    for (const v1::Bundle& bundle : evidence.bundles(side)) {
      PARITECT_RETURN_IF_ERROR(Annotate(store->PutBundle(audit, stored, bundle), file));
    }
  }
  return Annotate(store->PutReport(audit, report), file);
}

}  // namespace paritect
