#include "server/transport/caller.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "common/net/connection_table.h"
#include "common/status_macros.h"
#include "server/access.h"

namespace paritect {
namespace {

// "10.0.0.1" of "10.0.0.1:4711".
std::string AddressOf(const std::string& key) {
  return key.substr(0, key.rfind(':'));
}

absl::StatusOr<Caller> FromMetadata(const grpc::ServerContextBase& context, Caller caller) {
  const auto& metadata = context.client_metadata();
  const auto role = metadata.find("paritect-role");
  const auto name = metadata.find("paritect-name");
  if (role == metadata.end() || name == metadata.end()) return caller;
  const auto parsed = ParseRole(absl::string_view(role->second.data(), role->second.size()));
  if (!parsed) return absl::UnauthenticatedError("unknown role");
  Peer peer;
  peer.identity = {*parsed, std::string(name->second.data(), name->second.size())};
  PARITECT_RETURN_IF_ERROR(CheckName(peer.identity.name));
  caller.peer = std::move(peer);
  return caller;
}

v1::NodeRecord RecordOf(const Peer& peer) {
  v1::NodeRecord holder;
  holder.set_role(ToProto(peer.identity.role));
  holder.set_name(peer.identity.name);
  holder.set_serial(peer.serial_hex);
  holder.set_fingerprint(peer.fingerprint);
  holder.set_certificate_expires_unix(peer.not_after);
  return holder;
}

}  // namespace

std::string Caller::Actor() const {
  if (!peer) return absl::StrCat("-/", address);
  return absl::StrCat(RoleName(peer->identity.role), "/", peer->identity.name);
}

LoginHolder Caller::Holder() const {
  return {.actor = Actor(), .certificate = peer ? RecordOf(*peer) : v1::NodeRecord()};
}

absl::StatusOr<Caller> Gate::Identify(const grpc::ServerContextBase& context) const {
  Caller caller;
  caller.key = PeerKeyOfUri(context.peer());
  caller.address = AddressOf(caller.key);
  if (insecure_) return FromMetadata(context, std::move(caller));
  const auto auth = context.auth_context();
  if (auth == nullptr) return absl::UnauthenticatedError("no TLS session");
  const std::vector<grpc::string_ref> pem = auth->FindPropertyValues("x509_pem_cert");
  if (pem.empty()) return caller;
  PARITECT_ASSIGN_OR_RETURN(Peer peer, ParsePeer(absl::string_view(pem[0].data(), pem[0].size()), folder_.policy()));
  caller.peer = std::move(peer);
  return caller;
}

absl::StatusOr<Caller> Gate::Admit(const grpc::ServerContextBase& context, absl::string_view method,
                                   bool with_message) const {
  auto caller = Identify(context);
  absl::Status status = caller.status();
  if (status.ok() && caller->peer) {
    status = fleet_.Accepts(RecordOf(*caller->peer));
  }
  if (status.ok()) {
    status = CheckAccess(method, caller->peer ? std::optional<Role>(caller->peer->identity.role) : std::nullopt);
  }
  if (status.ok()) status = Holds(*caller);
  if (status.ok()) {
    heard_(*caller, with_message);
    return caller;
  }
  const std::string actor = caller.ok() ? caller->Actor() : absl::StrCat("-/", AddressOf(PeerKeyOfUri(context.peer())));
  log_.Write({.actor = actor,
              .address = AddressOf(PeerKeyOfUri(context.peer())),
              .action = std::string(method.substr(method.rfind('/') + 1))},
             status);
  return status;
}

absl::StatusOr<LoginHolder> Gate::HolderOf(const std::string& certificate_pem) const {
  Caller caller;
  PARITECT_ASSIGN_OR_RETURN(caller.peer, ParsePeer(certificate_pem, folder_.policy()));
  if (caller.peer->identity.role == Role::kAgent) {
    return absl::PermissionDeniedError("this is an agent's certificate: the page is for people");
  }
  PARITECT_RETURN_IF_ERROR(fleet_.Accepts(RecordOf(*caller.peer)));
  return caller.Holder();
}

absl::Status Gate::StillGood(const Caller& caller) const {
  PARITECT_RETURN_IF_ERROR(Holds(caller));
  heard_(caller, true);
  return absl::OkStatus();
}

absl::Status Gate::Holds(const Caller& caller) const {
  // An agent's stream is ended when it is revoked; a person's is noticed here.
  if (caller.peer && caller.peer->identity.role != Role::kAgent) {
    PARITECT_RETURN_IF_ERROR(fleet_.Accepts(RecordOf(*caller.peer)));
  }
  if (caller.peer && caller.peer->not_after > 0 && clock_() / 1000 > caller.peer->not_after) {
    return absl::UnauthenticatedError(
        absl::StrCat("certificate refused: it expired at ", FormatTime(caller.peer->not_after * 1000)));
  }
  return absl::OkStatus();
}

void Gate::Log(const Caller& caller, absl::string_view action, absl::string_view subject, const absl::Status& outcome,
               absl::string_view detail) const {
  log_.Write({.actor = caller.Actor(),
              .address = caller.address,
              .action = std::string(action),
              .subject = std::string(subject),
              .detail = std::string(detail),
              .often = action == "Session"},
             outcome);
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace paritect
