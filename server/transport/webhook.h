// Tells webhooks of events, on a thread of its own: whoever answers there slowly, endlessly or not at all holds up
// nothing. Only the first line of an answer is read.
#ifndef PARITECT_SERVER_TRANSPORT_WEBHOOK_H_
#define PARITECT_SERVER_TRANSPORT_WEBHOOK_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

struct sockaddr;

namespace paritect {

// Which addresses may be called. Who may write an audit chooses the webhook: without rules the server would knock for
// him at doors that only it can reach. Denied are loopback, link-local, private, shared and multicast addresses.
class TargetRules {
 public:
  // `allowed`: "10.0.0.0/8", "127.0.0.1", "fd00::/8": exceptions. InvalidArgument.
  static absl::StatusOr<TargetRules> Parse(absl::Span<const std::string> allowed);
  // PermissionDenied with the option that would allow it.
  absl::Status Check(const sockaddr& address) const;

 private:
  struct Range {
    std::array<unsigned char, 16> address = {};  // of IPv4: mapped into IPv6
    int bits = 0;
  };
  static absl::StatusOr<Range> ParseRange(absl::string_view text);
  static bool Contains(const Range& range, const std::array<unsigned char, 16>& address);
  static const std::vector<Range>& Denied();

  std::vector<Range> allowed_;
};

struct WebhookUrl {
  bool tls = false;
  std::string host;
  int port = 0;
  std::string path;           // with what follows '?'
  std::string user;           // "USER:PASSWORD"
  std::string Place() const;  // "https://HOST:PORT": what may stand in a log
};
// InvalidArgument; no message shows more than Place().
absl::StatusOr<WebhookUrl> ParseWebhookUrl(absl::string_view url);

// The status code that is answered, or why there is none. At most `time_ms` for everything.
absl::StatusOr<int> PostJson(const WebhookUrl& url, absl::string_view json, const TargetRules& rules,
                             std::int64_t time_ms, const std::atomic<bool>* cancelled);

struct WebhookOptions {
  TargetRules rules;
  std::size_t waiting_max = 256;
  std::int64_t time_ms = 10'000;
};

class WebhookQueue {
 public:
  // `told`: how it ended, once for each Post, on the queue's thread or, where there is no room, in Post.
  using Told = std::function<void(const std::string& place, const absl::Status& status)>;
  WebhookQueue(WebhookOptions options, Told told);
  ~WebhookQueue() { Stop(); }
  WebhookQueue(const WebhookQueue&) = delete;
  WebhookQueue& operator=(const WebhookQueue&) = delete;

  // Returns at once.
  void Post(const std::string& url, const std::string& json);
  // Gives up what is under way and what waits. Idempotent.
  void Stop();

 private:
  void Loop();

  const WebhookOptions options_;
  const Told told_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<std::pair<std::string, std::string>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_WEBHOOK_H_
