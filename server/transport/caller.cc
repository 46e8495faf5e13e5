#include "server/transport/caller.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/access.h"

namespace paritect {
namespace {

// "ipv4:10.0.0.1:4711", "ipv6:%5B::1%5D:4711" to the address alone.
std::string AddressOf(absl::string_view peer) {
  const std::size_t colon = peer.find(':');
  if (colon == absl::string_view::npos) return std::string(peer);
  peer.remove_prefix(colon + 1);
  const std::size_t port = peer.rfind(':');
  std::string address(peer.substr(0, port));
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}}) {
    for (std::size_t at; (at = address.find(from)) != std::string::npos;) address.replace(at, from.size(), to);
  }
  return address;
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

}  // namespace

std::string Caller::Actor() const {
  if (!peer) return absl::StrCat("-/", address);
  return absl::StrCat(RoleName(peer->identity.role), "/", peer->identity.name);
}

absl::StatusOr<Caller> Gate::Identify(const grpc::ServerContextBase& context) const {
  Caller caller;
  caller.address = AddressOf(context.peer());
  if (insecure_) return FromMetadata(context, std::move(caller));
  const auto auth = context.auth_context();
  if (auth == nullptr) return absl::UnauthenticatedError("no TLS session");
  const std::vector<grpc::string_ref> pem = auth->FindPropertyValues("x509_pem_cert");
  if (pem.empty()) return caller;
  PARITECT_ASSIGN_OR_RETURN(Peer peer, ParsePeer(absl::string_view(pem[0].data(), pem[0].size()), folder_.policy()));
  caller.peer = std::move(peer);
  return caller;
}

absl::StatusOr<Caller> Gate::Admit(const grpc::ServerContextBase& context, absl::string_view method) const {
  auto caller = Identify(context);
  absl::Status status = caller.status();
  if (status.ok() && caller->peer) {
    v1::NodeRecord holder;
    holder.set_role(ToProto(caller->peer->identity.role));
    holder.set_name(caller->peer->identity.name);
    holder.set_serial(caller->peer->serial_hex);
    holder.set_fingerprint(caller->peer->fingerprint);
    holder.set_certificate_expires_unix(caller->peer->not_after);
    status = fleet_.Accepts(holder);
  }
  if (status.ok()) {
    status = CheckAccess(method, caller->peer ? std::optional<Role>(caller->peer->identity.role) : std::nullopt);
  }
  if (status.ok()) return caller;
  const std::string actor = caller.ok() ? caller->Actor() : absl::StrCat("-/", AddressOf(context.peer()));
  log_.Write(actor, method.substr(method.rfind('/') + 1), "", status);
  return status;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace paritect
