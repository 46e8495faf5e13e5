#include "common/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kHostBytesMax = 253;

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const auto bad = [text](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", DisplayBytes(text.substr(0, 80)), "' is not HOST:PORT: ", why));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || absl::EndsWith(text, "]")) return bad("no port");
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != absl::string_view::npos) {
    return bad("the port is no number");
  }
  const auto number = ParseInt(port);
  if (!number || *number > 65535) return bad("the port is above 65535");
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad("no host");
  if (host.size() > kHostBytesMax) return bad("the host is too long");
  if (!bracketed && absl::StrContains(host, ':')) {
    return bad(absl::StrContains(host, '/') ? "no URL is meant" : "an IPv6 address stands in brackets");
  }
  for (const char c : host) {
    if (c <= ' ' || c >= 0x7f || c == '/' || c == '[' || c == ']' || c == '@')
      return bad("the host holds other characters");
  }
  return HostPort{std::string(host), static_cast<int>(*number)};
}

bool IsIpAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool IsLoopback(const std::string& host) {
  in_addr four = {};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == IN_LOOPBACKNET;
  in6_addr six = {};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

std::string FormatHostPort(const HostPort& address) {
  if (absl::StrContains(address.host, ':')) return absl::StrCat("[", address.host, "]:", address.port);
  return absl::StrCat(address.host, ":", address.port);
}

}  // namespace paritect
