// Plain HTTP for monitors: /metrics and /healthz. Nothing of the evidence; meant for the loopback or a trusted network.
#ifndef PARITECT_SERVER_TRANSPORT_WEB_H_
#define PARITECT_SERVER_TRANSPORT_WEB_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"

namespace paritect {

class WebServer {
 public:
  virtual ~WebServer() = default;  // stops
  virtual int port() const = 0;
};

absl::StatusOr<std::unique_ptr<WebServer>> StartWebServer(const HostPort& address,
                                                          std::function<std::string()> metrics);

// The whole answer, head and body, to a request's head.
std::string AnswerMonitor(absl::string_view request, const std::function<std::string()>& metrics);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_WEB_H_
