#include "server/transport/webhook.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/host_port.h"
#include "common/net/tls_stream.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using Address = std::array<unsigned char, 16>;

constexpr int kMappedBits = 96;
constexpr std::size_t kStatusLineBytesMax = 4 << 10;
constexpr int kLookupsMax = 4;

Address Mapped(const in_addr& four) {
  Address address = {};
  address[10] = address[11] = 0xff;
  std::memcpy(&address[12], &four, sizeof(four));
  return address;
}

// One name looked up on a thread of its own, which nobody can hurry: whoever waits may leave.
struct Lookup {
  absl::Mutex mutex;
  absl::CondVar done;
  bool over ABSL_GUARDED_BY(mutex) = false;
  int error ABSL_GUARDED_BY(mutex) = 0;
  addrinfo* found = nullptr;  // not changed once it is over
  ~Lookup() {
    if (found != nullptr) freeaddrinfo(found);
  }
};

std::atomic<int> lookups_under_way = 0;

absl::StatusOr<std::shared_ptr<Lookup>> LookUp(const WebhookUrl& url, std::int64_t time_ms,
                                               const std::atomic<bool>* cancelled) {
  if (lookups_under_way >= kLookupsMax) return absl::UnavailableError("names are not being resolved");
  const auto lookup = std::make_shared<Lookup>();
  ++lookups_under_way;
  std::thread([lookup, host = url.host, port = absl::StrCat(url.port)] {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    --lookups_under_way;
    absl::MutexLock lock(&lookup->mutex);
    lookup->error = error;
    lookup->found = found;
    lookup->over = true;
    lookup->done.SignalAll();
  }).detach();
  const std::int64_t deadline_ms = MonotonicMs() + time_ms;
  absl::MutexLock lock(&lookup->mutex);
  while (!lookup->over) {
    if (cancelled != nullptr && *cancelled) return absl::CancelledError("given up");
    if (MonotonicMs() >= deadline_ms) return absl::DeadlineExceededError("the name was not resolved in time");
    lookup->done.WaitWithTimeout(&lookup->mutex, absl::Milliseconds(100));
  }
  if (lookup->error != 0) return absl::UnavailableError(gai_strerror(lookup->error));
  return lookup;
}

std::string Request(const WebhookUrl& url, absl::string_view json) {
  const std::string host = absl::StrContains(url.host, ':') ? absl::StrCat("[", url.host, "]") : url.host;
  const bool usual = url.port == (url.tls ? 443 : 80);
  return absl::StrCat("POST ", url.path, " HTTP/1.1\r\nHost: ", host, usual ? "" : absl::StrCat(":", url.port),
                      "\r\nUser-Agent: paritect-server\r\nContent-Type: application/json\r\nContent-Length: ",
                      json.size(), url.user.empty() ? "" : "\r\nAuthorization: Basic ",
                      url.user.empty() ? "" : absl::Base64Escape(url.user), "\r\nConnection: close\r\n\r\n", json);
}

// The rest of an answer is of no interest, however long.
template <typename Stream>
absl::StatusOr<int> Exchange(Stream& stream, const std::string& request) {
  PARITECT_RETURN_IF_ERROR(stream.Send(request));
  std::string line;
  char buffer[1024];
  while (!absl::StrContains(line, '\n')) {
    if (line.size() > kStatusLineBytesMax) return absl::UnavailableError("its answer's first line does not end");
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, stream.Receive(absl::MakeSpan(buffer)));
    line.append(buffer, n);
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(line).substr(0, line.find_first_of("\r\n")), ' ');
  const auto code = words.size() < 2 || !absl::StartsWith(words[0], "HTTP/1.") ? std::nullopt : ParseInt(words[1]);
  if (!code || *code < 100 || *code > 599) return absl::UnavailableError("its answer is not HTTP");
  return static_cast<int>(*code);
}

absl::StatusOr<int> ExchangeOverTls(const WebhookUrl& url, TcpStream& tcp, const std::string& request) {
  PARITECT_ASSIGN_OR_RETURN(const openssl::UniqueSslContext context, NewClientContext());
  if (SSL_CTX_set_default_verify_paths(context.get()) != 1) return openssl::Failure("no authorities");
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  PARITECT_ASSIGN_OR_RETURN(TlsStream tls, TlsStream::Make(context.get(), tcp, url.host, ""));
  const int named = IsIpAddress(url.host) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls.ssl()), url.host.c_str())
                                          : SSL_set1_host(tls.ssl(), url.host.c_str());
  if (named != 1) return openssl::Failure("cannot check the host's name");
  PARITECT_RETURN_IF_ERROR(tls.Shake());
  return Exchange(tls, request);
}

absl::Status Outcome(int status) {
  if (status < 300) return absl::OkStatus();
  if (status < 400) return absl::UnavailableError(absl::StrCat("status ", status, ": redirections are not followed"));
  return absl::UnavailableError(absl::StrCat("status ", status));
}

}  // namespace

absl::StatusOr<TargetRules::Range> TargetRules::ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  const std::string host(parts.first);
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no address and no range of them (10.1.2.3, 10.0.0.0/8, fd00::/8)"));
  Range range;
  in_addr four = {};
  int first_bits = 0;
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    range.address = Mapped(four);
    first_bits = kMappedBits;
  } else if (inet_pton(AF_INET6, host.c_str(), range.address.data()) != 1) {
    return bad;
  }
  range.bits = 128;
  if (host.size() == text.size()) return range;
  const auto bits = ParseInt(parts.second);
  if (!bits || *bits < 0 || *bits > 128 - first_bits) return bad;
  range.bits = first_bits + static_cast<int>(*bits);
  return range;
}

bool TargetRules::Contains(const Range& range, const Address& address) {
  const auto whole = static_cast<std::size_t>(range.bits / 8);
  if (!std::equal(address.begin(), address.begin() + whole, range.address.begin())) return false;
  const int rest = range.bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (address[whole] & mask) == (range.address[whole] & mask);
}

// Source: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890); translated ones of RFC 2765.
const std::vector<TargetRules::Range>& TargetRules::Denied() {
  static const std::vector<Range>& denied = *[] {
    auto* const ranges = new std::vector<Range>;
    for (const char* text : {"0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
                             "172.16.0.0/12", "192.0.0.0/24",    "192.168.0.0/16", "198.18.0.0/15",  "224.0.0.0/3",
                             "::/96",         "::ffff:0:0:0/96", "64:ff9b::/96",   "64:ff9b:1::/48", "2002::/16",
                             "2001::/32",     "fc00::/7",        "fe80::/10",      "fec0::/10",      "ff00::/8"}) {
      ranges->push_back(*ParseRange(text));
    }
    return ranges;
  }();
  return denied;
}

absl::StatusOr<TargetRules> TargetRules::Parse(absl::Span<const std::string> allowed) {
  TargetRules rules;
  for (const std::string& text : allowed) {
    PARITECT_ASSIGN_OR_RETURN(const Range range, ParseRange(text));
    rules.allowed_.push_back(range);
  }
  return rules;
}

absl::Status TargetRules::Check(const sockaddr& target) const {
  Address address = {};
  if (target.sa_family == AF_INET) {
    address = Mapped(reinterpret_cast<const sockaddr_in&>(target).sin_addr);
  } else if (target.sa_family == AF_INET6) {
    std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6&>(target).sin6_addr, address.size());
  } else {
    return absl::PermissionDeniedError("an address of an unknown kind");
  }
  const auto holds = [&](const Range& range) { return Contains(range, address); };
  if (std::any_of(allowed_.begin(), allowed_.end(), holds)) return absl::OkStatus();
  if (std::none_of(Denied().begin(), Denied().end(), holds)) return absl::OkStatus();
  const std::string text = AddressText(target);
  return absl::PermissionDeniedError(absl::StrCat(text,
                                                  " is an address of this machine or of a private network; "
                                                  "`paritect-server run --webhook-allow ",
                                                  text, "` permits it"));
}

std::string WebhookUrl::Place() const {
  return absl::StrCat(tls ? "https://" : "http://", FormatHostPort({host, port}));
}

absl::StatusOr<WebhookUrl> ParseWebhookUrl(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError("a webhook is http://HOST[:PORT]/PATH or https://…");
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == 0x7f; })) return bad;
  WebhookUrl url;
  url.tls = absl::StartsWithIgnoreCase(text, "https://");
  if (!url.tls && !absl::StartsWithIgnoreCase(text, "http://")) return bad;
  text.remove_prefix(url.tls ? 8 : 7);
  text = text.substr(0, text.find('#'));
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  absl::string_view authority = text.substr(0, end);
  url.path = std::string(text.substr(end));
  if (!absl::StartsWith(url.path, "/")) url.path = absl::StrCat("/", url.path);
  if (const std::size_t at = authority.rfind('@'); at != absl::string_view::npos) {
    url.user = std::string(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  const bool with_port = authority.rfind(':') != absl::string_view::npos && !absl::EndsWith(authority, "]");
  const auto place =
      ParseHostPort(with_port ? std::string(authority) : absl::StrCat(authority, url.tls ? ":443" : ":80"));
  if (!place.ok() || place->port == 0) return bad;
  url.host = place->host;
  url.port = place->port;
  return url;
}

absl::StatusOr<int> PostJson(const WebhookUrl& url, absl::string_view json, const TargetRules& rules,
                             std::int64_t time_ms, const std::atomic<bool>* cancelled) {
  const std::int64_t deadline_ms = MonotonicMs() + time_ms;
  PARITECT_ASSIGN_OR_RETURN(const auto lookup, LookUp(url, time_ms, cancelled));
  TcpOptions options;
  options.timeout_ms = std::max<std::int64_t>(0, deadline_ms - MonotonicMs());
  options.allow = [&rules](const sockaddr& address) { return rules.Check(address); };
  options.cancelled = cancelled;
  TcpStream tcp({url.host, url.port}, std::move(options));
  PARITECT_RETURN_IF_ERROR(tcp.OpenOneOf(lookup->found));
  const std::string request = Request(url, json);
  return url.tls ? ExchangeOverTls(url, tcp, request) : Exchange(tcp, request);
}

WebhookQueue::WebhookQueue(WebhookOptions options, Told told)
    : options_(std::move(options)), told_(std::move(told)), thread_([this] { Loop(); }) {}

void WebhookQueue::Post(const std::string& url, const std::string& json) {
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    if (waiting_.size() < options_.waiting_max) {
      waiting_.emplace_back(url, json);
      changed_.Signal();
      return;
    }
  }
  const auto parsed = ParseWebhookUrl(url);
  told_(parsed.ok() ? parsed->Place() : "",
        absl::ResourceExhaustedError(absl::StrCat("not sent: ", options_.waiting_max, " others wait")));
}

void WebhookQueue::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Signal();
  if (thread_.joinable()) thread_.join();
}

void WebhookQueue::Loop() {
  while (true) {
    std::pair<std::string, std::string> next;
    {
      absl::MutexLock lock(&mutex_);
      while (!stopping_ && waiting_.empty()) changed_.Wait(&mutex_);
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const auto url = ParseWebhookUrl(next.first);
    if (!url.ok()) {
      told_("", url.status());
      continue;
    }
    const auto sent = stopping_ ? absl::StatusOr<int>(absl::CancelledError("not sent: the server was stopping"))
                                : PostJson(*url, next.second, options_.rules, options_.time_ms, &stopping_);
    told_(url->Place(), sent.ok() ? Outcome(*sent) : sent.status());
  }
}

}  // namespace paritect
