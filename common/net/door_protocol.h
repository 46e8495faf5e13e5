// What is spoken at a server's enrolment door: TLS with its own ALPN name, then one request and one answer, each four
// bytes of length (big endian) and so many bytes. The one thing that can be had of a server without a certificate.
#ifndef PARITECT_COMMON_NET_DOOR_PROTOCOL_H_
#define PARITECT_COMMON_NET_DOOR_PROTOCOL_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

inline constexpr absl::string_view kDoorProtocol = "paritect-enrol/1";
inline constexpr std::size_t kDoorRequestBytesMax = 64 << 10;
inline constexpr std::size_t kDoorAnswerBytesMax = 2 << 20;  // authorities and a certificate
inline constexpr std::size_t kFrameHeadBytes = 4;

std::string Frame(absl::string_view body);

// The body of the frame that `received` begins with; nullopt: more must come. InvalidArgument: it is to be longer than
// `body_bytes_max`, or something follows it.
absl::StatusOr<std::optional<absl::string_view>> BodyOfFrame(absl::string_view received, std::size_t body_bytes_max);

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_DOOR_PROTOCOL_H_
