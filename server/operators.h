// What persons ask of a server, without gRPC: each call takes its request and who asks.
#ifndef PARITECT_SERVER_OPERATORS_H_
#define PARITECT_SERVER_OPERATORS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/operators.pb.h"
#include "server/audits/audits.h"
#include "server/enrolment.h"
#include "server/fleet.h"
#include "server/live.h"
#include "storage/fleet_store.h"

namespace paritect {

// The parts of a running server; all outlive the calls.
struct ServerParts {
  FleetStore& store;
  Fleet& fleet;
  Audits& audits;
  Live& live;
  Enrolment& enrolment;
  const Rules& rules;
  WallClock clock;
  std::function<absl::Status(WriteSet)> commit;
  std::function<std::string()> metrics;  // Prometheus text
  std::string program;                   // "paritect-server 0.1.0"
  std::int64_t server_certificate_expires_unix = 0;
  std::string backup_folder;       // where Backup writes; made with the first one
  std::function<bool()> stopping;  // what takes long ends early then
};

// `by`: ROLE/NAME of the caller, from the certificate.
class OperatorCalls {
 public:
  explicit OperatorCalls(ServerParts parts) : parts_(std::move(parts)) {}

  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request, const std::string& by);
  absl::StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request, const std::string& by);
  absl::StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request, const std::string& by);
  absl::StatusOr<v1::ListNodesResponse> ListNodes(const v1::ListNodesRequest& request, const std::string& by);
  absl::StatusOr<v1::RevokeNodeResponse> RevokeNode(const v1::RevokeNodeRequest& request, const std::string& by);
  absl::StatusOr<v1::CreateAuditResponse> CreateAudit(const v1::CreateAuditRequest& request, const std::string& by);
  absl::StatusOr<v1::ListAuditsResponse> ListAudits(const v1::ListAuditsRequest& request, const std::string& by);
  absl::StatusOr<v1::RunAuditResponse> RunAudit(const v1::RunAuditRequest& request, const std::string& by);
  absl::StatusOr<v1::CancelAuditResponse> CancelAudit(const v1::CancelAuditRequest& request, const std::string& by);
  absl::StatusOr<v1::StopAuditResponse> StopAudit(const v1::StopAuditRequest& request, const std::string& by);
  absl::StatusOr<v1::RemoveAuditResponse> RemoveAudit(const v1::RemoveAuditRequest& request, const std::string& by);
  absl::StatusOr<v1::RemoveRunResponse> RemoveRun(const v1::RemoveRunRequest& request, const std::string& by);
  absl::StatusOr<v1::RemoveAnswerResponse> RemoveAnswer(const v1::RemoveAnswerRequest& request, const std::string& by);
  absl::StatusOr<v1::GetReportResponse> GetReport(const v1::GetReportRequest& request, const std::string& by);
  absl::StatusOr<v1::ListAuditRunsResponse> ListAuditRuns(const v1::ListAuditRunsRequest& request,
                                                          const std::string& by);
  absl::StatusOr<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& request, const std::string& by);
  absl::StatusOr<v1::AttestResponse> Attest(const v1::AttestRequest& request, const std::string& by);
  absl::StatusOr<v1::AddWaiverResponse> AddWaiver(const v1::AddWaiverRequest& request, const std::string& by);
  absl::StatusOr<v1::ListWaiversResponse> ListWaivers(const v1::ListWaiversRequest& request, const std::string& by);
  absl::StatusOr<v1::ReadLogResponse> ReadLog(const v1::ReadLogRequest& request, const std::string& by);
  absl::StatusOr<v1::DiagnosisResponse> Diagnose(const v1::DiagnosisRequest& request, const std::string& by);
  absl::StatusOr<v1::BackupResponse> Backup(const v1::BackupRequest& request, const std::string& by);
  absl::StatusOr<v1::GetMetricsResponse> GetMetrics(const v1::GetMetricsRequest& request, const std::string& by);

  // The bytes of a bundle file.
  absl::StatusOr<v1::ImportResponse> Import(absl::string_view file, absl::string_view bytes, const std::string& by);
  // Bundle files, one after the other.
  absl::StatusOr<std::vector<std::string>> GetEvidence(const v1::GetEvidenceRequest& request);

  absl::Status RequireAudit(const std::string& name);  // NotFound
  Audits& audits() { return parts_.audits; }
  Live& live() { return parts_.live; }

 private:
  ServerParts parts_;
  std::mutex numbers_;  // one waiver is numbered at a time
  std::mutex deep_;     // the whole database is read for one caller at a time
};

}  // namespace paritect

#endif  // PARITECT_SERVER_OPERATORS_H_
