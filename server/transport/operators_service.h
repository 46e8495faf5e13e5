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

#define PARITECT_OPERATOR_CALL(Name, roles, subject) \
  grpc::Status Name(grpc::ServerContext*, const v1::Name##Request*, v1::Name##Response*) override;
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL
  grpc::Status GetMetrics(grpc::ServerContext*, const v1::GetMetricsRequest*, v1::GetMetricsResponse*) override;
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
