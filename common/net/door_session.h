// The server's end of TLS where one request a connection is answered: at the enrolment door, and for browsers.
#ifndef PARITECT_COMMON_NET_DOOR_SESSION_H_
#define PARITECT_COMMON_NET_DOOR_SESSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/net/one_shot_server.h"
#include "common/pki/openssl.h"

namespace paritect {

// For sessions that show `chain_pem` (the server's certificate first), ask for no certificate, keep nothing for later.
// InvalidArgument: chain and key cannot be used.
absl::StatusOr<openssl::UniqueSslContext> NewOneShotContext(const std::string& chain_pem, const std::string& key_pem);

// The same for sessions that may show a certificate; one that is none of `authorities_pem` ends the handshake.
absl::StatusOr<openssl::UniqueSslContext> NewPageContext(const std::string& chain_pem, const std::string& key_pem,
                                                         const std::string& authorities_pem);

// The same as the first for sessions that speak kDoorProtocol and nothing else.
absl::StatusOr<openssl::UniqueSslContext> NewDoorContext(const std::string& chain_pem, const std::string& key_pem);

// What makes a OneShotServer a door: frames around requests and answers.
OneShotOptions DoorOptions();
OneShotPorts DoorPorts(std::function<openssl::UniqueSsl()> tls,
                       std::function<std::string(absl::string_view body, const std::string& address)> answer,
                       std::function<void(const std::string& address, const std::string& why)> refused = {});

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_DOOR_SESSION_H_
