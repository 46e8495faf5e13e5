// The server's page for browsers over TLS: the shell that draws (report/html_page.h), logins, and the calls behind it
// (server/page_api.h). Without a session it shows that one is needed, and nothing else.
#ifndef PARITECT_SERVER_TRANSPORT_PAGE_H_
#define PARITECT_SERVER_TRANSPORT_PAGE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/net/one_shot_server.h"
#include "rules/rules.h"
#include "server/call_log.h"
#include "server/logins.h"
#include "server/page_api.h"
#include "server/transport/http_exchange.h"

namespace paritect {

struct PagePorts {
  Logins& logins;
  CallLog& log;
  // Whether the holder may still come in: false once it was revoked, also where it has joined again since.
  std::function<bool(const LoginHolder& holder)> stands;
  // The holder of a certificate that the handshake verified; PermissionDenied: revoked.
  std::function<absl::StatusOr<LoginHolder>(const std::string& certificate_pem)> holder;
};

// Thread-safe where its parts are.
class Page {
 public:
  Page(const Rules& rules, OperatorCalls& calls, PagePorts ports);

  HttpAnswer Answer(const HttpRequest& request, const OneShotPeer& peer);

 private:
  absl::StatusOr<Login> LogIn(const HttpRequest& request, const OneShotPeer& peer);
  HttpAnswer Enter(const HttpRequest& request, const OneShotPeer& peer);
  HttpAnswer Api(const HttpRequest& request, const OneShotPeer& peer);

  const std::string shell_;
  PageApi api_;
  const PagePorts ports_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_PAGE_H_
