#include "server/transport/web.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/net/listener.h"
#include "common/net/one_shot_server.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytesMax = 8 << 10;
constexpr int kCallersMax = 64;
constexpr std::int64_t kTimeMs = 5'000;  // a monitor asks at once
constexpr std::size_t kBodyBytesMax = 64 << 10;
constexpr std::int64_t kPageTimeMs = 60'000;  // a large report over a slow line

std::string Response(absl::string_view status, absl::string_view type, absl::string_view body, bool head_only) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n\r\n", head_only ? "" : body);
}

class WebServerImpl final : public WebServer {
 public:
  // Whether there is a page is asked first: arguments of one call are evaluated in any order, and one moves it.
  WebServerImpl(std::function<std::string()> metrics, WebPage page)
      : page_(page.answer != nullptr), server_(Limits(page_), Ports(std::move(metrics), std::move(page))) {}
  ~WebServerImpl() override {
    if (listener_ != nullptr) listener_->Stop();
    server_.Stop();
  }

  absl::Status Start(const HostPort& address) {
    PARITECT_ASSIGN_OR_RETURN(listener_, Listener::Open(address, {}, {[this](const Arrival& arrival) {
                                                          server_.Take(arrival.descriptor, arrival.address);
                                                        }}));
    return absl::OkStatus();
  }

  int port() const override { return listener_->port(); }

 private:
  static OneShotOptions Limits(bool page) {
    OneShotOptions options;
    options.callers_max = kCallersMax;
    options.callers_per_address_max = kCallersMax;
    options.request_bytes_max = page ? kHeadBytesMax + kBodyBytesMax : kHeadBytesMax;
    options.time_ms = page ? kPageTimeMs : kTimeMs;
    return options;
  }

  static OneShotPorts Ports(std::function<std::string()> metrics, WebPage page) {
    OneShotPorts ports;
    const auto monitor = [metrics = std::move(metrics)](absl::string_view request, const OneShotPeer&) {
      return AnswerMonitor(request, metrics);
    };
    if (page.answer == nullptr) {
      ports.whole = [](absl::string_view received) -> absl::StatusOr<bool> {
        return absl::StrContains(received, "\r\n\r\n") || absl::StrContains(received, "\n\n");
      };
      ports.answer = monitor;
      return ports;
    }
    ports.whole = [](absl::string_view received) { return IsWholeRequest(received, kHeadBytesMax, kBodyBytesMax); };
    ports.tls = std::move(page.tls);
    ports.answer_plain = monitor;
    ports.refused = std::move(page.refused);
    ports.answer = [answer = std::move(page.answer)](absl::string_view request, const OneShotPeer& peer) {
      return ExchangeHttp(request, peer.address, [&](const HttpRequest& asked) { return answer(asked, peer); });
    };
    return ports;
  }

  const bool page_;
  OneShotServer server_;
  std::unique_ptr<Listener> listener_;  // ends before what it hands connections to
};

}  // namespace

std::string AnswerMonitor(absl::string_view request, const std::function<std::string()>& metrics) {
  const absl::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) {
    return Response("400 Bad Request", "text/plain", "HTTP/1.1 is spoken here\n", false);
  }
  const bool head_only = words[0] == "HEAD";
  if (words[0] != "GET" && !head_only) return Response("405 Method Not Allowed", "text/plain", "GET alone\n", false);
  const absl::string_view path = words[1].substr(0, words[1].find('?'));
  if (path == "/metrics") return Response("200 OK", "text/plain; version=0.0.4", metrics(), head_only);
  if (path == "/healthz") return Response("200 OK", "text/plain", "ok\n", head_only);
  return Response("404 Not Found", "text/plain", "/metrics and /healthz are here; the page is here over https\n",
                  head_only);
}

absl::StatusOr<std::unique_ptr<WebServer>> StartWebServer(const HostPort& address, std::function<std::string()> metrics,
                                                          WebPage page) {
  auto server = std::make_unique<WebServerImpl>(std::move(metrics), std::move(page));
  PARITECT_RETURN_IF_ERROR(server->Start(address));
  return std::unique_ptr<WebServer>(std::move(server));
}

}  // namespace paritect
