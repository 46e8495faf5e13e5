#include "server/transport/web.h"

#include <httplib.h>

#include <thread>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr int kTimeoutSeconds = 10;
constexpr int kRequestSeconds = 1;  // a monitor asks at once; who does not shall not hold a thread

class WebServerImpl final : public WebServer {
 public:
  ~WebServerImpl() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(const HostPort& address, std::function<std::string()> metrics) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(8); };
    server_.set_read_timeout(kRequestSeconds);
    server_.set_keep_alive_timeout(kRequestSeconds);
    server_.set_payload_max_length(1024);
    server_.Get("/metrics", [metrics](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics(), "text/plain; version=0.0.4");
    });
    server_.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain");
    });
    port_ = address.port;
    if (address.port == 0) {
      port_ = server_.bind_to_any_port(address.host);
    } else if (!server_.bind_to_port(address.host, address.port)) {
      port_ = -1;
    }
    if (port_ < 0) return absl::UnavailableError(absl::StrCat("cannot listen on ", FormatHostPort(address)));
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WebServer>> StartWebServer(const HostPort& address,
                                                          std::function<std::string()> metrics) {
  auto server = std::make_unique<WebServerImpl>();
  const absl::Status status = server->Start(address, std::move(metrics));
  if (!status.ok()) return status;
  return std::unique_ptr<WebServer>(std::move(server));
}

absl::StatusOr<int> PostJson(const std::string& url, const std::string& json) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return absl::InvalidArgumentError("no address");
  const std::size_t slash = url.find('/', scheme + 3);
  httplib::Client client(url.substr(0, slash));
  client.set_connection_timeout(kTimeoutSeconds);
  client.set_read_timeout(kTimeoutSeconds);
  const auto result = client.Post(slash == std::string::npos ? "/" : url.substr(slash), json, "application/json");
  if (!result) return absl::UnavailableError(httplib::to_string(result.error()));
  return result->status;
}

}  // namespace paritect
