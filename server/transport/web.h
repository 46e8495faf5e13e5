// HTTP on one port. In plain for monitors: /metrics and /healthz, nothing of the evidence. Over TLS for browsers: the
// server's page (page.h).
#ifndef PARITECT_SERVER_TRANSPORT_WEB_H_
#define PARITECT_SERVER_TRANSPORT_WEB_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"
#include "common/net/one_shot_server.h"
#include "common/pki/openssl.h"
#include "server/transport/http_exchange.h"

namespace paritect {

class WebServer {
 public:
  virtual ~WebServer() = default;  // stops
  virtual int port() const = 0;
};

// Both are called on the server's thread.
struct WebPage {
  std::function<HttpAnswer(const HttpRequest& request, const OneShotPeer& peer)> answer = {};
  std::function<openssl::UniqueSsl()> tls = {};  // a session for a new caller
  std::function<void(const std::string& address, const std::string& why)> refused = {};
};

// Without `page` monitors alone are answered.
absl::StatusOr<std::unique_ptr<WebServer>> StartWebServer(const HostPort& address, std::function<std::string()> metrics,
                                                          WebPage page = {});

// The whole answer, head and body, to a request's head.
std::string AnswerMonitor(absl::string_view request, const std::function<std::string()>& metrics);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_WEB_H_
