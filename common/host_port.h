// Network addresses as users write them: "HOST:PORT", "10.0.0.1:7400", "[::1]:7400".
#ifndef PARITECT_COMMON_HOST_PORT_H_
#define PARITECT_COMMON_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0 to 65535

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// InvalidArgument: no port, a port that is no number up to 65535, no host, blanks or '/' in it (an URL), an IPv6
// address without brackets. Port 0 ("any") is for those who listen.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// A numeric address of IPv4 or IPv6, without brackets.
bool IsIpAddress(const std::string& host);
// "localhost", or an address that only this machine reaches (127.0.0.0/8, ::1).
bool IsLoopback(const std::string& host);

// Brackets around what holds a ':'.
std::string FormatHostPort(const HostPort& address);

}  // namespace paritect

#endif  // PARITECT_COMMON_HOST_PORT_H_
