#include "server/transport/http_exchange.h"

#include <httplib.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

constexpr absl::string_view kHeadEnds = "\r\n\r\n";

// A request that is here already, and an answer that is kept.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(absl::string_view in, const std::string& address) : in_(in), address_(address) {}

  bool is_readable() const override { return !in_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    size = std::min(size, in_.size());
    std::copy_n(in_.data(), size, to);
    in_.remove_prefix(size);
    return static_cast<ssize_t>(size);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    out_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = address_;
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string TakeOut() { return std::move(out_); }

 private:
  absl::string_view in_;
  const std::string& address_;
  std::string out_;
};

class Exchange final : public httplib::Server {
 public:
  // `body`: the library hands a request over before it reads its body, which is here already.
  Exchange(absl::string_view body, const std::function<HttpAnswer(const HttpRequest&)>& answer) {
    set_keep_alive_max_count(1);
    set_pre_routing_handler([body, &answer](const httplib::Request& asked, httplib::Response& given) {
      HttpRequest request = {asked.method, asked.path, std::string(body), {}};
      for (const auto& [name, value] : asked.headers) request.headers.try_emplace(absl::AsciiStrToLower(name), value);
      HttpAnswer made = answer(request);
      given.status = made.status;
      for (const auto& [name, value] : made.headers) given.set_header(name, value);
      given.set_content(std::move(made.body), made.type);
      return HandlerResponse::Handled;
    });
  }

  void Run(httplib::Stream& stream) {
    bool closed = false;
    // Compressing at its default effort would cost seconds of the one thread that answers.
    process_request(stream, /*close_connection=*/true, closed,
                    [](httplib::Request& request) { request.headers.erase("Accept-Encoding"); });
  }
};

}  // namespace

absl::StatusOr<bool> IsWholeRequest(absl::string_view received, std::size_t head_bytes_max,
                                    std::size_t body_bytes_max) {
  const std::size_t end = received.find(kHeadEnds);
  if (end == absl::string_view::npos) {
    if (received.size() <= head_bytes_max) return false;
    return absl::InvalidArgumentError("a head without end");
  }
  if (end > head_bytes_max) return absl::InvalidArgumentError("a head without end");
  std::size_t body = 0;
  for (absl::string_view line : absl::StrSplit(received.substr(0, end), "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> header = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::EqualsIgnoreCase(header.first, "transfer-encoding")) {
      return absl::InvalidArgumentError("a body of no announced length");
    }
    if (!absl::EqualsIgnoreCase(header.first, "content-length")) continue;
    if (!absl::SimpleAtoi(header.second, &body) || body > body_bytes_max) {
      return absl::InvalidArgumentError("a body that is too long");
    }
  }
  return received.size() >= end + kHeadEnds.size() + body;
}

std::string ExchangeHttp(absl::string_view request, const std::string& address,
                         const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  MemoryStream stream(request, address);
  const std::size_t end = request.find(kHeadEnds);
  const absl::string_view body = end == absl::string_view::npos ? "" : request.substr(end + kHeadEnds.size());
  try {
    Exchange(body, answer).Run(stream);
  } catch (const std::exception&) {
    // What it cannot read is answered below.
  }
  std::string out = stream.TakeOut();
  if (!out.empty()) return out;
  return "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace paritect
