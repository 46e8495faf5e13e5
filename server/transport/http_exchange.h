// One request and its answer in HTTP/1.1, as bytes: cpp-httplib's reading and writing of messages over a connection
// that is ours (common/net/one_shot_server.h), whose bytes and time are bounded before it sees any.
#ifndef PARITECT_SERVER_TRANSPORT_HTTP_EXCHANGE_H_
#define PARITECT_SERVER_TRANSPORT_HTTP_EXCHANGE_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without the query
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case; of several of a name the first
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Whether `received` is a whole request: its head and as many bytes after it as it announces. InvalidArgument: a head
// above `head_bytes_max`, a body above `body_bytes_max` or of no announced length.
absl::StatusOr<bool> IsWholeRequest(absl::string_view received, std::size_t head_bytes_max, std::size_t body_bytes_max);

// The bytes of the answer, after which the connection ends. What is no HTTP gets 400.
std::string ExchangeHttp(absl::string_view request, const std::string& address,
                         const std::function<HttpAnswer(const HttpRequest&)>& answer);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_HTTP_EXCHANGE_H_
