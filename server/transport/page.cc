#include "server/transport/page.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/html_page.h"

namespace paritect {
namespace {

constexpr absl::string_view kCookie = "paritect_session";
constexpr char kJson[] = "application/json";

int HttpCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return 400;
    case absl::StatusCode::kUnauthenticated: return 401;
    case absl::StatusCode::kPermissionDenied: return 403;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition: return 409;
    case absl::StatusCode::kResourceExhausted: return 429;
    case absl::StatusCode::kUnavailable: return 503;
    default: return 500;
  }
}

HttpAnswer Refusal(const absl::Status& status) {
  HttpAnswer answer = {HttpCode(status), kJson, ""};
  answer.body = DumpJson({{"error", JsonText(status.message())}}, -1);
  return answer;
}

HttpAnswer Guarded(HttpAnswer answer) {
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("X-Frame-Options", "DENY");
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

std::string SessionOf(const HttpRequest& request) {
  for (absl::string_view part : absl::StrSplit(HeaderOf(request, "cookie"), ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, kCookie) && absl::ConsumePrefix(&part, "=")) return std::string(part);
  }
  return "";
}

// The browser gives it to this server alone, over TLS alone, to no script, and not for a click on another site.
std::pair<std::string, std::string> Cookie(absl::string_view session, std::int64_t seconds) {
  return {"Set-Cookie",
          absl::StrCat(kCookie, "=", session, "; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=", seconds)};
}

}  // namespace

Page::Page(const Rules& rules, OperatorCalls& calls, PagePorts ports)
    : shell_(HtmlServerPage(rules)), api_(calls, ports.log), ports_(std::move(ports)) {}

// With a token of the command line, or as the holder of the certificate that the browser showed.
absl::StatusOr<Login> Page::LogIn(const HttpRequest& request, const OneShotPeer& peer) {
  const OrderedJson body = OrderedJson::parse(request.body, nullptr, false);
  const bool whole = body.is_object() && body.contains("token") && body["token"].is_string();
  if (whole) return ports_.logins.Enter(body["token"].get<std::string>());
  const bool by_certificate = body.is_object() && body.contains("certificate") && body["certificate"] == true;
  if (!by_certificate) return absl::PermissionDeniedError("a token, or a certificate, is needed");
  if (peer.certificate_pem.empty()) {
    return absl::PermissionDeniedError(
        "the browser showed no certificate: import the file that `paritect web --certificate FILE` writes, and open "
        "the "
        "page anew");
  }
  PARITECT_ASSIGN_OR_RETURN(LoginHolder holder, ports_.holder(peer.certificate_pem));
  PARITECT_ASSIGN_OR_RETURN(const Login token, ports_.logins.NewToken(std::move(holder), 0));
  return ports_.logins.Enter(token.secret);
}

HttpAnswer Page::Enter(const HttpRequest& request, const OneShotPeer& peer) {
  const auto login = LogIn(request, peer);
  const auto holder = login.ok() ? ports_.logins.HolderOf(login->secret) : std::nullopt;
  ports_.log.Write(
      {.actor = holder ? holder->actor : absl::StrCat("-/", peer.address), .address = peer.address, .action = "Login"},
      login.status());
  if (!login.ok()) return Refusal(login.status());
  HttpAnswer answer = {200, kJson, "{}"};
  answer.headers.push_back(Cookie(login->secret, Logins::kSessionSecondsMax));
  return answer;
}

HttpAnswer Page::Api(const HttpRequest& request, const OneShotPeer& peer) {
  // A form of another site can send no such header.
  if (request.method != "GET" && HeaderOf(request, "x-paritect") != "1") {
    return Refusal(absl::PermissionDeniedError("this was not sent by the page"));
  }
  if (request.path == "/api/login" && request.method == "POST") return Enter(request, peer);
  const std::string session = SessionOf(request);
  const auto holder = ports_.logins.HolderOf(session);
  if (!holder.has_value() || !ports_.stands(*holder)) {
    return Refusal(absl::UnauthenticatedError("log in first: `paritect web` prints an address that does"));
  }
  if (request.path == "/api/logout" && request.method == "POST") {
    ports_.logins.Leave(session);
    HttpAnswer answer = {200, kJson, "{}"};
    answer.headers.push_back(Cookie("", 0));
    return answer;
  }
  auto text = api_.Answer({request.method, request.path, request.body, holder->actor, peer.address});
  if (!text.ok()) return Refusal(text.status());
  return {200, kJson, *std::move(text)};
}

HttpAnswer Page::Answer(const HttpRequest& request, const OneShotPeer& peer) {
  if (absl::StartsWith(request.path, "/api/")) return Guarded(Api(request, peer));
  if (request.method != "GET" && request.method != "HEAD") {
    return Guarded({405, "text/plain", "GET alone\n"});
  }
  if (request.path != "/") return Guarded({404, "text/plain", "nothing here; the page is /\n"});
  HttpAnswer answer = {200, "text/html; charset=utf-8", shell_};
  answer.headers.emplace_back("Content-Security-Policy", absl::StrCat(ServerPagePolicy(), "; frame-ancestors 'none'"));
  return Guarded(std::move(answer));
}

}  // namespace paritect
