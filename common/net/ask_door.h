// First contact: over TLS whose authority is known by its pin alone, one question to the server's enrolment door.
#ifndef PARITECT_COMMON_NET_ASK_DOOR_H_
#define PARITECT_COMMON_NET_ASK_DOOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"
#include "common/net/starting_server.h"
#include "common/pki/certificate.h"
#include "common/pki/pin.h"
#include "paritect/v1/agents.pb.h"

namespace paritect {

struct DoorQuery {
  HostPort server;
  std::int64_t now = 0;              // Unix seconds, for the certificates' dates
  std::int64_t timeout_ms = 10'000;  // for the whole, looking up the name excepted
  bool check_host = true;            // the server's certificate must be for server.host
  TellWaiting waiting;               // of AskToJoin; may be empty
};

struct DoorReply {
  Certificate authority;  // the pinned one
  std::string body;
};

// Shakes hands (TLS 1.2 or later, no client certificate), which proves that the server holds the key of the certificate
// it shows, checks the pin and the whole chain (VerifyPinnedChain, its errors), and only then sends the request.
// Unavailable: no such host, refused, hung up, does not speak TLS, is no door; DeadlineExceeded: silence.
absl::StatusOr<DoorReply> AskDoor(const DoorQuery& query, const CaPin& pin, absl::string_view request);

struct Joined {
  Certificate authority;
  v1::JoinResponse response;
};

// The one request that there is; a server that may be starting is waited for. Errors: those above, and the server's
// refusals in its words and code.
absl::StatusOr<Joined> AskToJoin(const DoorQuery& query, const CaPin& pin, const v1::JoinRequest& request);

// As it came from a server; a code that is none becomes Internal.
absl::StatusOr<v1::JoinResponse> ReadDoorAnswer(absl::string_view body);

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_ASK_DOOR_H_
