// What persons ask of a server, without gRPC: each call takes its request and who asks.
#ifndef PARITECT_SERVER_OPERATORS_H_
#define PARITECT_SERVER_OPERATORS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/pki/report_key.h"
#include "paritect/v1/operators.pb.h"
#include "server/audits/audits.h"
#include "server/enrolment.h"
#include "server/fleet.h"
#include "server/live.h"
#include "server/logins.h"
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
  std::string backup_folder;              // where Backup writes; made with the first one
  std::function<bool()> stopping;         // what takes long ends early then
  std::string host_name;                  // of this machine
  const ReportKey* report_key = nullptr;  // nullptr: reports are not signed
  Logins* logins = nullptr;
  std::function<std::string()> page;  // "HOST:PORT" of the page; empty: there is none
  std::string certificate_sha256;     // hex, of the server's certificate
  std::function<absl::Status()> writing;                     // what the newest commit ended with
  std::function<absl::StatusOr<std::int64_t>()> free_bytes;  // on the disk of the server's folder
  std::int64_t start_unix_ms = 0;
};

// Of a person's interest alone: no key, no evidence, no definition again and again.
v1::AuditRun ForWatcher(v1::AuditRun run);

// `by`: ROLE/NAME of the caller, from the certificate.
class OperatorCalls {
 public:
  explicit OperatorCalls(ServerParts parts) : parts_(std::move(parts)) {}

#define PARITECT_OPERATOR_CALL(Name, roles, subject) \
  absl::StatusOr<v1::Name##Response> Name(const v1::Name##Request& request, const std::string& by);
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL
  // A name is not enough for it: a login ends with the certificate that it was made with.
  absl::StatusOr<v1::CreateLoginResponse> CreateLogin(const v1::CreateLoginRequest& request, LoginHolder holder);
  absl::StatusOr<v1::DiagnosisResponse> Diagnose(const v1::DiagnosisRequest& request, const std::string& by);
  absl::StatusOr<v1::GetMetricsResponse> GetMetrics(const v1::GetMetricsRequest& request, const std::string& by);

  // The bytes of a bundle file.
  absl::StatusOr<v1::ImportResponse> Import(absl::string_view file, absl::string_view bytes, const std::string& by);
  // Bundle files, one after the other.
  absl::StatusOr<std::vector<std::string>> GetEvidence(const v1::GetEvidenceRequest& request);

  absl::Status RequireAudit(const std::string& name);  // NotFound
  Audits& audits() {
    return parts_.audits;
  }
  Live& live() {
    return parts_.live;
  }

 private:
  void Vouch(v1::GetReportResponse& response) const;

  ServerParts parts_;
  absl::Mutex numbers_;  // one waiver is numbered at a time
  absl::Mutex deep_;     // the whole database is read for one caller at a time
};

}  // namespace paritect

#endif  // PARITECT_SERVER_OPERATORS_H_
