// Tells of TLS handshakes that fail, with the caller's address and the reason, where the transport tells neither:
// gRPC's log says that a handshake failed, and nothing of whose. OpenSSL is asked to report alerts of every session of
// this process; a session is known again by the random number of its first message, which the listener saw before it
// handed the connection over.
#ifndef PARITECT_COMMON_NET_HANDSHAKE_WATCH_H_
#define PARITECT_COMMON_NET_HANDSHAKE_WATCH_H_

#include <functional>
#include <memory>
#include <string>

#include "common/pki/openssl.h"

namespace paritect {

// Thread-safe. Handshakes of a watch that was destroyed are not told any more.
class HandshakeWatch {
 public:
  // `why`: "certificate of CN=... by CN=...: certificate has expired", "peer did not return a certificate". Called on
  // the transport's threads, which must not wait.
  using Tell = std::function<void(const std::string& address, const std::string& why)>;

  explicit HandshakeWatch(Tell tell);
  ~HandshakeWatch();
  HandshakeWatch(const HandshakeWatch&) = delete;
  HandshakeWatch& operator=(const HandshakeWatch&) = delete;

  // A connection from `address` begins its handshake; `random`: of its ClientHello (PeekedHello::random).
  void Expect(const std::string& random, const std::string& address);

 private:
  const std::shared_ptr<const Tell> tell_;
};

// Why the handshake of a session failed just now, on this thread: whose certificate was refused and why, else OpenSSL's
// reason.
std::string WhyHandshakeFailed(const SSL* ssl);

// Whether a failure was told by this thread since it was asked last: its transport's own words add nothing then.
bool ToldOfHandshake();

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_HANDSHAKE_WATCH_H_
