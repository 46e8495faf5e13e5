#include "agent/daemon/enrol.h"

#include "absl/algorithm/container.h"
#include "agent/uplink/grpc_calls.h"
#include "common/net/ask_door.h"
#include "common/pki/join_token.h"
#include "common/pki/key_pair.h"
#include "common/pki/request.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

struct KeyAndRequest {
  std::string key_pem;
  std::string request_pem;
};

absl::StatusOr<KeyAndRequest> NewKey(const std::string& name) {
  KeyAndRequest made;
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::Generate());
  PARITECT_ASSIGN_OR_RETURN(made.key_pem, key.ToPem());
  PARITECT_ASSIGN_OR_RETURN(made.request_pem, CertificateRequest::Make(key, name));
  return made;
}

v1::JoinRequest RequestOf(const JoinQuery& query, const KeyAndRequest& made) {
  v1::JoinRequest request;
  request.set_token(query.token);
  request.set_name(query.node);
  request.set_signing_request_pem(made.request_pem);
  request.add_accepts(v1::ACCESS_ROLE_AGENT);
  return request;
}

absl::StatusOr<Role> RoleOf(v1::AccessRole role) {
  switch (role) {
    case v1::ACCESS_ROLE_AGENT: return Role::kAgent;
    case v1::ACCESS_ROLE_VIEWER: return Role::kViewer;
    case v1::ACCESS_ROLE_OPERATOR: return Role::kOperator;
    case v1::ACCESS_ROLE_ADMIN: return Role::kAdmin;
    default: return absl::InternalError("the server's answer names no role");
  }
}

absl::StatusOr<Credential> JoinPinned(const JoinQuery& query, const CaPin& pin) {
  PARITECT_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(query.server));
  PARITECT_ASSIGN_OR_RETURN(const KeyAndRequest made, NewKey(query.node));
  const DoorQuery door = {.server = address, .now = query.now, .timeout_ms = 15'000, .waiting = query.waiting};
  PARITECT_ASSIGN_OR_RETURN(const Joined joined, AskToJoin(door, pin, RequestOf(query, made)));
  const v1::JoinResponse& response = joined.response;
  Credential credential;
  PARITECT_ASSIGN_OR_RETURN(credential.identity.role, RoleOf(response.role()));
  credential.identity.name = response.name();
  credential.servers = {query.server};
  // The authorities that the server hands out count where the pinned one is among them: then one is being replaced.
  const auto all = Certificate::ListFromPem(response.authority_pem());
  const bool pinned = all.ok() && absl::c_any_of(*all, [&](const Certificate& one) { return pin.Matches(one); });
  credential.authority_pem = pinned ? response.authority_pem() : joined.authority.ToPem();
  credential.certificate_pem = response.certificate_pem();
  credential.key_pem = made.key_pem;
  return credential;
}

}  // namespace

absl::Status CheckJoinQuery(const JoinQuery& query) {
  PARITECT_RETURN_IF_ERROR(ParseHostPort(query.server).status());
  PARITECT_RETURN_IF_ERROR(CaPin::Parse(query.ca_pin).status());
  PARITECT_RETURN_IF_ERROR(TokenDigest(query.token).status());
  return CheckName(query.node);
}

absl::StatusOr<Credential> JoinServer(const JoinQuery& query) {
  PARITECT_RETURN_IF_ERROR(CheckJoinQuery(query));
  PARITECT_ASSIGN_OR_RETURN(const CaPin pin, CaPin::Parse(query.ca_pin));
  return JoinPinned(query, pin);
}

absl::StatusOr<Credential> JoinKnownServer(const JoinQuery& query, const std::string& authority_pem) {
  PARITECT_ASSIGN_OR_RETURN(const Certificate authority, Certificate::FromPem(authority_pem));
  return JoinPinned(query, CaPin::Of(authority));
}

absl::StatusOr<Credential> RenewCredential(const Credential& credential, const std::vector<std::string>& servers,
                                           std::int64_t timeout_ms) {
  PARITECT_ASSIGN_OR_RETURN(const KeyAndRequest made, NewKey(credential.identity.name));
  v1::RenewRequest request;
  request.set_signing_request_pem(made.request_pem);
  absl::Status last = absl::InternalError("no server to ask");
  for (const std::string& server : servers) {
    const RpcTarget target = {.server = server,
                              .tls = {credential.authority_pem, credential.certificate_pem, credential.key_pem},
                              .timeout_ms = timeout_ms / static_cast<std::int64_t>(servers.size())};
    const auto response = CallRenew(target, request);
    last = response.status();
    if (!last.ok()) continue;
    Credential renewed = credential;
    renewed.certificate_pem = response->certificate_pem();
    renewed.key_pem = made.key_pem;
    // Over a connection that the old authority vouches for: while one replaces another, both are handed out.
    if (Certificate::ListFromPem(response->authority_pem()).ok()) renewed.authority_pem = response->authority_pem();
    return renewed;
  }
  return last;
}

}  // namespace paritect
