// The agent's side of a session with a server: what it sends when, and what it does when the line breaks. No gRPC, no
// threads, no clock of its own.
//
// Records go out of the spool in the order of their numbers, in batches, as far as the server's window allows; what is
// acknowledged leaves the spool. After a new connection, and on Resend, sending begins again behind what the server
// holds durably. What the spool has lost goes out as a gap in its place. Progress is not kept: the newest of each task
// is sent a few times a second while there is a connection.
#ifndef PARITECT_AGENT_UPLINK_UPLINK_H_
#define PARITECT_AGENT_UPLINK_UPLINK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/spool/spool.h"
#include "agent/uplink/backoff.h"
#include "agent/uplink/transport.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

inline constexpr int kUplinkProtocol = 1;

struct UplinkOptions {
  std::vector<std::string> servers;  // "HOST:PORT", at least one; each failure goes on to the next
  std::int64_t backoff_base_ms = 1'000;
  // Half of the time after which a server that starts calls a node silent (AuditOptions): what it asks at its start
  // reaches every node in time.
  std::int64_t backoff_cap_ms = 30'000;
  // A server that went away so short a time ago is most often being restarted: the cap is lower meanwhile.
  std::int64_t restart_ms = 300'000;
  std::int64_t restart_cap_ms = 5'000;
  std::int64_t greeting_timeout_ms = 20'000;  // from opening to Welcome
  std::int64_t closing_timeout_ms = 2'000;
  std::int64_t healthy_after_ms = 10'000;  // a session so long, or one that delivered, resets the back-off
  std::int64_t progress_interval_ms = 500;
  // Bounds of our own; Welcome may lower them.
  std::int64_t batch_bytes_max = 512 << 10;
  std::int64_t batch_records_max = 2'000;
  std::int64_t window_bytes = 4 << 20;
  std::int64_t window_records = 20'000;
  std::int64_t heartbeat_ms = 15'000;
};

// The world of an uplink. All but `wake` are called by Step, on its thread, and must not block.
struct UplinkPorts {
  std::function<std::int64_t()> steady_ms;  // never goes back
  std::function<std::int64_t()> wall_ms;    // since 1970
  Backoff::Random random;
  std::function<void()> wake;        // any thread: Step has something to do
  std::function<v1::Hello()> hello;  // epoch and sequences are filled in
  std::function<void(const v1::Task&)> on_task;
  std::function<void(const std::string& task_id)> on_cancel;
  std::function<void(std::uint64_t durable_sequence)> on_acknowledged;
  std::function<void(const v1::ContentAnswer&)> on_answer = {};  // empty: nothing is asked
  // For the log. `server` as configured.
  std::function<void(const std::string& server, const v1::Welcome&)> on_connected;
  std::function<void(const std::string& server, const absl::Status&, std::int64_t retry_ms)> on_disconnected;
};

struct UplinkStats {
  bool connected = false;
  std::int64_t sessions = 0;  // that reached Welcome
  std::int64_t records_sent = 0;
  std::int64_t batches_sent = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t resends = 0;
  std::int64_t throttles = 0;
};

// Step and stats belong to one thread; the other methods to any.
class Uplink {
 public:
  // Both must outlive it.
  Uplink(UplinkOptions options, Spool& spool, UplinkTransport& transport, UplinkPorts ports);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Does what is due; returns after how many milliseconds to call again at the latest (sooner after `wake`).
  std::int64_t Step();
  // Step has nothing to do any more, after Stop.
  bool stopped() const { return phase_ == Phase::kStopped; }
  const UplinkStats& stats() const { return stats_; }
  // The server holds more of this epoch than the spool ever accepted: the spool's folder was put back to an earlier
  // state, and its next numbers would be taken for old ones. Nothing is sent any more; a new spool is the way out.
  bool spool_is_behind() const { return spool_is_behind_; }

  // `last`: it goes out before the next records, however soon after the one before.
  void SetProgress(v1::TaskProgress progress, bool last = false);
  // The last one still goes out.
  void ForgetProgress(const std::string& task_id);
  // Sent before records, if there is a session; forgotten without one, and when it ends.
  void Ask(v1::ContentQuestion question);
  // Something was appended to the spool.
  void RecordsWait() { ports_.wake(); }
  // Ends the session and begins a new one at once (a new certificate); other servers may be given.
  void Reconnect(std::vector<std::string> servers = {});
  // Ends the session; no new one follows.
  void Stop();

 private:
  enum class Phase { kWaiting, kGreeting, kOnline, kClosing, kStopped };
  class Line;  // one stream and its events

  struct Input {
    enum class Kind { kMessage, kWritten, kClosed, kReconnect, kStop };
    Kind kind = Kind::kMessage;
    std::uint64_t line = 0;  // of which stream
    v1::ServerMessage message;
    absl::Status status;
    std::vector<std::string> servers;
  };
  struct Sent {
    std::uint64_t last = 0;
    std::int64_t bytes = 0;
    std::int64_t records = 0;
  };
  struct Prepared {
    v1::AgentMessage message;
    Sent sent;
  };

  void Post(Input input);
  void TakeInputs(std::int64_t now);
  void OnMessage(const v1::ServerMessage& message, std::int64_t now);
  void OnWelcome(const v1::Welcome& welcome, std::int64_t now);
  void OnAck(std::uint64_t epoch, std::uint64_t durable_sequence);
  void OnResend(const v1::Resend& resend);
  void OnClosed(const absl::Status& status, std::int64_t now);
  void OnReconnect(std::vector<std::string> servers, std::int64_t now);
  void OnStop(std::int64_t now);

  void Open(std::int64_t now);
  void BeginClosing(std::int64_t now);
  void HangUp(const absl::Status& why, std::int64_t now);
  std::int64_t RetryDelay(const absl::Status& why, std::int64_t now);
  bool IsHealthy(std::int64_t now) const;  // the session that is ending has proved that the server works
  void LeaveHealthy(std::int64_t now);

  void Pump(std::int64_t now);
  void Write(v1::AgentMessage message);
  bool WriteHeartbeat(std::int64_t now);
  bool WriteProgress(std::int64_t now);
  bool WriteQuestion();
  bool WriteBatch(std::int64_t now);
  bool MayRead() const;
  std::optional<Prepared> Prepare(std::int64_t now);
  std::int64_t NextDueMs(std::int64_t now);

  UplinkOptions options_;
  Spool& spool_;
  UplinkTransport& transport_;
  const UplinkPorts ports_;

  Phase phase_ = Phase::kWaiting;
  Backoff backoff_;
  std::size_t server_ = 0;  // index of the present one
  std::uint64_t lines_ = 0;
  std::unique_ptr<Line> line_;
  bool writing_ = false;
  bool stopping_ = false;
  bool spool_is_behind_ = false;
  std::uint64_t acknowledged_ = 0;                // up to and including; nobody else acknowledges
  std::int64_t due_ms_ = 0;                       // of the phase: retry, greeting or closing time is over
  std::optional<std::int64_t> planned_retry_ms_;  // after a close that is no failure (Drain, Reconnect)

  // Of the session.
  std::int64_t online_since_ms_ = 0;
  std::optional<std::int64_t> healthy_until_ms_;  // the end of the last such session
  bool delivered_ = false;
  std::int64_t window_bytes_ = 0;
  std::int64_t window_records_ = 0;
  std::int64_t batch_bytes_max_ = 0;
  std::int64_t heartbeat_ms_ = 0;
  std::int64_t heartbeat_due_ms_ = 0;
  std::int64_t throttled_until_ms_ = 0;
  std::int64_t read_again_ms_ = 0;  // after the disk failed
  std::uint64_t next_send_ = 1;
  std::deque<Sent> in_flight_;
  std::int64_t in_flight_bytes_ = 0;
  std::int64_t in_flight_records_ = 0;
  std::optional<Prepared> prepared_;  // read, waits for the window
  UplinkStats stats_;

  struct Progress {
    v1::TaskProgress newest;
    bool fresh = false;
    bool last = false;
    bool forgotten = false;
    std::int64_t sent_ms = 0;
    std::int64_t DueMs(std::int64_t interval_ms) const { return last ? sent_ms : sent_ms + interval_ms; }
  };
  absl::Mutex mutex_;
  std::deque<v1::ContentQuestion> questions_ ABSL_GUARDED_BY(mutex_);
  std::deque<Input> inputs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Progress> progress_ ABSL_GUARDED_BY(mutex_);
};

// "dropped_full", as an Envelope names it.
absl::string_view GapReasonName(GapReason reason);

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_UPLINK_H_
