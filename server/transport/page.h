// The server's page for browsers over TLS: the shell that draws (report/html_page.h), logins, and the calls behind it
// (server/page_api.h). Without a session it shows that one is needed, and nothing else.
#ifndef PARITECT_SERVER_TRANSPORT_PAGE_H_
#define PARITECT_SERVER_TRANSPORT_PAGE_H_

#include <functional>
#include <string>

#include "rules/rules.h"
#include "server/call_log.h"
#include "server/logins.h"
#include "server/page_api.h"
#include "server/transport/http_exchange.h"

namespace paritect {

struct PagePorts {
  Logins& logins;
  CallLog& log;
  // Whether the holder "operator/anna" may still come in: false once it was revoked.
  std::function<bool(const std::string& actor)> stands;
};

// Thread-safe where its parts are.
class Page {
 public:
  Page(const Rules& rules, OperatorCalls& calls, PagePorts ports);

  HttpAnswer Answer(const HttpRequest& request, const std::string& address);

 private:
  HttpAnswer Enter(const HttpRequest& request, const std::string& address);
  HttpAnswer Api(const HttpRequest& request, const std::string& address);

  const std::string shell_;
  PageApi api_;
  const PagePorts ports_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_PAGE_H_
