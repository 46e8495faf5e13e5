// A request to the server's page and its monitor as any browser, or stranger, may send it: it is whole or not, is
// handed over at most once, and gets one whole answer.
#include "absl/strings/match.h"
#include "server/transport/http_exchange.h"
#include "server/transport/web.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  constexpr std::size_t kHeadBytesMax = 8 << 10;
  constexpr std::size_t kBodyBytesMax = 64 << 10;
  const absl::string_view received = FuzzInput(data, size);
  const std::string monitor = AnswerMonitor(received.substr(0, kHeadBytesMax), [] { return std::string("up 1\n"); });
  FuzzCheck(absl::StartsWith(monitor, "HTTP/1.1 "), "a monitor is always answered");
  const auto whole = IsWholeRequest(received, kHeadBytesMax, kBodyBytesMax);
  if (!whole.ok() || !*whole) return 0;
  int calls = 0;
  const std::string answer = ExchangeHttp(received, "192.0.2.1", [&](const HttpRequest& request) {
    ++calls;
    FuzzCheck(request.body.size() <= received.size(), "a body is what was sent");
    return HttpAnswer{200, "application/json", request.body, {{"X-Content-Type-Options", "nosniff"}}};
  });
  FuzzCheck(calls <= 1, "a request is handed over once");
  FuzzCheck(absl::StartsWith(answer, "HTTP/1.") && absl::StrContains(answer, "\r\n\r\n"), "an answer has its head");
  return 0;
}
