// A TCP connection to somebody, with one deadline for everything that is done with it.
#ifndef PARITECT_COMMON_NET_TCP_STREAM_H_
#define PARITECT_COMMON_NET_TCP_STREAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host_port.h"

struct addrinfo;
struct sockaddr;

namespace paritect {

struct TcpOptions {
  std::int64_t timeout_ms = 10'000;  // for the whole, looking up the name excepted
  // Asked of each address after the name was looked up, so that no name leads where its address may not; empty: all.
  std::function<absl::Status(const sockaddr&)> allow;
  const std::atomic<bool>* cancelled = nullptr;  // looked at ten times a second; then Cancelled
  std::string silence;                           // what DeadlineExceeded adds
};

// Milliseconds of a clock that nobody sets.
std::int64_t MonotonicMs();

// "10.0.0.1", "fe80::1"
std::string AddressText(const sockaddr& address);

// Not thread-safe.
class TcpStream {
 public:
  // `server` is for messages and, in Open, whom to call.
  TcpStream(HostPort server, TcpOptions options);
  ~TcpStream() { Close(); }
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Tries the host's addresses in the resolver's order. Unavailable: no such host, refused (MayBeStarting); the error
  // of `allow` where it takes none of them.
  absl::Status Open();
  // The same with addresses that were looked up already.
  absl::Status OpenOneOf(const addrinfo* addresses);
  absl::Status Send(absl::string_view bytes);
  // At least one byte; Unavailable when the other end hangs up.
  absl::StatusOr<std::size_t> Receive(absl::Span<char> buffer);

  // "cannot reach HOST:PORT: WHY"
  absl::Status Unreachable(absl::string_view why) const;

 private:
  absl::Status OpenAddress(const addrinfo& address, std::int64_t deadline_ms);
  absl::Status Wait(short events, std::int64_t deadline_ms);  // NOLINT(google-runtime-int): poll's type
  absl::Status Broken(int error) const;
  void Close();

  const HostPort server_;
  const TcpOptions options_;
  const std::int64_t deadline_ms_;
  int fd_ = -1;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_TCP_STREAM_H_
