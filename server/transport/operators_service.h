// The calls of persons over gRPC: each admitted, done by OperatorCalls, logged.
#ifndef PARITECT_SERVER_TRANSPORT_OPERATORS_SERVICE_H_
#define PARITECT_SERVER_TRANSPORT_OPERATORS_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "paritect/v1/operators.grpc.pb.h"
#include "server/call_slots.h"
#include "server/operators.h"
#include "server/transport/caller.h"

namespace paritect {

// The synchronous API: persons are few, and a call may take its time.
class OperatorsService final : public v1::Operators::Service {
 public:
  OperatorsService(const Gate& gate, OperatorCalls& calls) : gate_(gate), calls_(calls) {}

#define PARITECT_RPC(Name) \
  grpc::Status Name(grpc::ServerContext*, const v1::Name##Request*, v1::Name##Response*) override;
  PARITECT_RPC(CreateToken)
  PARITECT_RPC(ListTokens)
  PARITECT_RPC(RevokeToken)
  PARITECT_RPC(ListNodes)
  PARITECT_RPC(RevokeNode)
  PARITECT_RPC(CreateAudit)
  PARITECT_RPC(ListAudits)
  PARITECT_RPC(RunAudit)
  PARITECT_RPC(CancelAudit)
  PARITECT_RPC(StopAudit)
  PARITECT_RPC(RemoveAudit)
  PARITECT_RPC(RemoveRun)
  PARITECT_RPC(RemoveAnswer)
  PARITECT_RPC(GetReport)
  PARITECT_RPC(ListAuditRuns)
  PARITECT_RPC(ListRuns)
  PARITECT_RPC(Attest)
  PARITECT_RPC(AddWaiver)
  PARITECT_RPC(ListWaivers)
  PARITECT_RPC(ReadLog)
  PARITECT_RPC(Backup)
  PARITECT_RPC(GetMetrics)
#undef PARITECT_RPC
  grpc::Status Diagnose(grpc::ServerContext*, const v1::DiagnosisRequest*, v1::DiagnosisResponse*) override;
  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::LiveEvent>* writer) override;
  grpc::Status WatchAudit(grpc::ServerContext*, const v1::WatchAuditRequest*,
                          grpc::ServerWriter<v1::AuditRun>*) override;
  grpc::Status Import(grpc::ServerContext*, grpc::ServerReader<v1::ImportChunk>*, v1::ImportResponse*) override;
  grpc::Status GetEvidence(grpc::ServerContext*, const v1::GetEvidenceRequest*,
                           grpc::ServerWriter<v1::EvidenceChunk>*) override;

 private:
  template <typename Request, typename Response>
  grpc::Status Serve(const grpc::ServerContext& context, absl::string_view name, absl::string_view subject,
                     const Request& request, Response& response,
                     absl::StatusOr<Response> (OperatorCalls::*call)(const Request&, const std::string&));

  absl::StatusOr<CallSlots::Slot> TakeSlot(const Caller& caller, absl::string_view name);

  const Gate& gate_;
  OperatorCalls& calls_;
  CallSlots slots_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_OPERATORS_SERVICE_H_
