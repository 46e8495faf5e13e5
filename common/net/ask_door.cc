#include "common/net/ask_door.h"

#include "absl/strings/str_cat.h"
#include "common/net/door_protocol.h"
#include "common/net/tls_stream.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

absl::StatusOr<std::string> ReceiveFrame(TlsStream& tls) {
  std::string received;
  char buffer[16 << 10];
  while (true) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, tls.Receive(absl::MakeSpan(buffer)));
    received.append(buffer, n);
    PARITECT_ASSIGN_OR_RETURN(const auto body, BodyOfFrame(received, kDoorAnswerBytesMax));
    if (body) return std::string(*body);
  }
}

}  // namespace

absl::StatusOr<DoorReply> AskDoor(const DoorQuery& query, const CaPin& pin, absl::string_view request) {
  PARITECT_ASSIGN_OR_RETURN(const openssl::UniqueSslContext context, NewClientContext());
  TcpOptions options;
  options.timeout_ms = query.timeout_ms;
  options.silence = ": is it a Paritect server, and is no firewall in between?";
  TcpStream tcp(query.server, std::move(options));
  PARITECT_RETURN_IF_ERROR(tcp.Open());
  PARITECT_ASSIGN_OR_RETURN(TlsStream tls, TlsStream::Make(context.get(), tcp, query.server.host, kDoorProtocol));
  PARITECT_RETURN_IF_ERROR(tls.Shake());
  // What the handshake cannot know, the pin, is checked right after it.
  const ChainQuery wanted = {ChainQuery::Purpose::kServer, query.now, query.check_host ? query.server.host : ""};
  auto authority = VerifyPinnedChain(tls.shown(), pin, wanted);
  if (!authority.ok()) return Annotate(authority.status(), FormatHostPort(query.server));
  if (tls.protocol() != kDoorProtocol) {
    return tcp.Unreachable("it does not let join in the way of this version: update the older of the two");
  }
  PARITECT_RETURN_IF_ERROR(tls.Send(Frame(request)));
  auto body = ReceiveFrame(tls);
  if (absl::IsInvalidArgument(body.status())) return tcp.Unreachable(body.status().message());
  PARITECT_RETURN_IF_ERROR(body.status());
  return DoorReply{*std::move(authority), *std::move(body)};
}

absl::StatusOr<v1::JoinResponse> ReadDoorAnswer(absl::string_view body) {
  v1::DoorAnswer answer;
  if (!answer.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::InternalError("the server's answer cannot be read");
  }
  const int code = answer.code();
  if (code == 0 && answer.has_joined()) return answer.joined();
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (!known) return absl::InternalError("the server's answer says neither yes nor no");
  return absl::Status(static_cast<absl::StatusCode>(code), answer.message());
}

absl::StatusOr<Joined> AskToJoin(const DoorQuery& query, const CaPin& pin, const v1::JoinRequest& request) {
  const std::string body = request.SerializeAsString();
  absl::StatusOr<DoorReply> reply = absl::UnavailableError("not asked");
  PARITECT_RETURN_IF_ERROR(AskWhileStarting(kStartingMs, query.waiting, [&] {
    reply = AskDoor(query, pin, body);
    return reply.status();
  }));
  PARITECT_ASSIGN_OR_RETURN(v1::JoinResponse response, ReadDoorAnswer(reply->body));
  return Joined{std::move(reply->authority), std::move(response)};
}

}  // namespace paritect
