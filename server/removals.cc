// What operators take away: each is a line of the log of calls, and none takes evidence that another audit judged.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "server/operators.h"
#include "server/retention.h"
#include "storage/fleet_keys.h"

namespace paritect {

absl::StatusOr<v1::StopAuditResponse> OperatorCalls::StopAudit(const v1::StopAuditRequest& request,
                                                               const std::string&) {
  PARITECT_RETURN_IF_ERROR(RequireAudit(request.name()));
  const bool both = !request.schedule() && !request.live();
  v1::StopAuditResponse response;
  if (both || request.schedule()) {
    PARITECT_ASSIGN_OR_RETURN(const bool stopped, parts_.audits.StopSchedule(request.name()));
    response.set_schedule(stopped);
  }
  if (both || request.live()) response.set_live(parts_.live.End(request.name(), "stopped").ok());
  return response;
}

absl::StatusOr<v1::RemoveAuditResponse> OperatorCalls::RemoveAudit(const v1::RemoveAuditRequest& request,
                                                                   const std::string&) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t runs, parts_.audits.Remove(request.name()));
  v1::RemoveAuditResponse response;
  response.set_runs(runs);
  return response;
}

absl::StatusOr<v1::RemoveRunResponse> OperatorCalls::RemoveRun(const v1::RemoveRunRequest& request,
                                                               const std::string&) {
  if (request.run().empty()) return absl::InvalidArgumentError("which run? (`paritect runs ls` lists all)");
  for (const v1::AuditDefinition& definition : parts_.audits.Definitions()) {
    for (const v1::AuditSide* side : {&definition.baseline(), &definition.migrated()}) {
      for (const std::string& run : side->runs()) {
        if (run != request.run()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("run '", run, "' is a side of audit '", definition.name(), "'; remove that audit first"));
      }
    }
  }
  PARITECT_ASSIGN_OR_RETURN(const RetentionResult dropped, DropRun(parts_.store, parts_.commit, request.run()));
  v1::RemoveRunResponse response;
  response.set_bundles(dropped.bundles);
  return response;
}

absl::StatusOr<v1::RemoveAnswerResponse> OperatorCalls::RemoveAnswer(const v1::RemoveAnswerRequest& request,
                                                                     const std::string&) {
  const bool waiver = request.waiver() > 0;
  const std::string collection = waiver ? "waiver" : "attestation";
  const std::string key =
      waiver ? absl::StrFormat("%010d", request.waiver()) : AttestationKey(request.audit(), request.check());
  PARITECT_ASSIGN_OR_RETURN(const auto known, parts_.store.Get(collection, key));
  if (!known) {
    return absl::NotFoundError(waiver ? absl::StrCat("there is no waiver ", request.waiver(), " (`paritect waive ls`)")
                                      : absl::StrCat("audit '", request.audit(), "' has no attestation of ",
                                                     request.check(), " (`paritect waive ls`)"));
  }
  WriteSet set;
  set.documents.push_back({collection, key, std::nullopt, {}});
  PARITECT_RETURN_IF_ERROR(parts_.commit(std::move(set)));
  return v1::RemoveAnswerResponse();
}

}  // namespace paritect
