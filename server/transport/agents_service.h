// The RPCs of agents over gRPC: renewal, and the session, which is an AgentLink of the fleet.
#ifndef PARITECT_SERVER_TRANSPORT_AGENTS_SERVICE_H_
#define PARITECT_SERVER_TRANSPORT_AGENTS_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "paritect/v1/agents.grpc.pb.h"
#include "server/enrolment.h"
#include "server/fleet.h"
#include "server/transport/caller.h"

namespace paritect {

// Ten thousand sessions share the callback API's few threads.
class AgentsService final : public v1::Agents::CallbackService {
 public:
  AgentsService(const Gate& gate, Enrolment& enrolment, Fleet& fleet)
      : gate_(gate), enrolment_(enrolment), fleet_(fleet) {}

  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* request,
                                  v1::JoinResponse* response) override;
  grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* Session(grpc::CallbackServerContext* context) override;

 private:
  const Gate& gate_;
  Enrolment& enrolment_;
  Fleet& fleet_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_AGENTS_SERVICE_H_
