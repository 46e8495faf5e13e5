#include "agent/uplink/uplink.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

// Waits that `wake` ends; the uplink then looks after itself once in a while.
constexpr std::int64_t kNothingDueMs = 60'000;
constexpr std::int64_t kDrainSpreadMaxMs = 600'000;  // whatever a server says: nodes come back within ten minutes
constexpr std::int64_t kReadAgainMs = 1'000;
// What an envelope costs beside its record, on the wire and at the server.
constexpr std::int64_t kEnvelopeBytes = 24;
// Sequences below what we have acknowledged that a server asks for: it was put back to an earlier state.
constexpr absl::string_view kAcknowledgedBefore = "acknowledged_before";

// A limit of ours that the server may lower, never to nothing.
std::int64_t Lowered(std::int64_t own, std::int64_t servers) {
  return servers > 0 ? std::min(own, servers) : own;
}

// What only a person can mend: trying again soon changes nothing and fills logs.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status) ||
         absl::IsUnimplemented(status);
}

void AddEnvelope(const SpoolEntry& entry, v1::Batch& batch) {
  v1::Envelope& envelope = *batch.add_envelopes();
  envelope.set_sequence(entry.sequence);
  if (entry.is_gap()) {
    envelope.set_last_sequence(entry.last_sequence);
    envelope.set_gap_reason(std::string(GapReasonName(entry.gap)));
  } else {
    envelope.set_record(entry.payload);
  }
}

}  // namespace

absl::string_view GapReasonName(GapReason reason) {
  switch (reason) {
    case GapReason::kNone: break;
    case GapReason::kDamaged: return "damaged";
    case GapReason::kDroppedFull: return "dropped_full";
    case GapReason::kDroppedAge: return "dropped_age";
    case GapReason::kNotWritten: return "not_written";
    case GapReason::kInterrupted: return "interrupted";
  }
  return "unknown";
}

// Carries what happens on one stream to the thread of Step; what comes of a stream that is gone is dropped there.
class Uplink::Line : public StreamEvents {
 public:
  Line(Uplink& owner, std::uint64_t number) : owner_(owner), number_(number) {}
  void OnMessage(v1::ServerMessage message) override {
    owner_.Post(
        {.kind = Input::Kind::kMessage, .line = number_, .message = std::move(message), .status = {}, .servers = {}});
  }
  void OnWritten() override { Simple(Input::Kind::kWritten, absl::OkStatus()); }
  void OnClosed(absl::Status status) override { Simple(Input::Kind::kClosed, std::move(status)); }

  std::uint64_t number() const { return number_; }
  std::unique_ptr<UplinkStream> stream;  // destroyed first: no event comes after it

 private:
  void Simple(Input::Kind kind, absl::Status status) {
    owner_.Post({.kind = kind, .line = number_, .message = {}, .status = std::move(status), .servers = {}});
  }
  Uplink& owner_;
  const std::uint64_t number_;
};

Uplink::Uplink(UplinkOptions options, Spool& spool, UplinkTransport& transport, UplinkPorts ports)
    : options_(std::move(options)),
      spool_(spool),
      transport_(transport),
      ports_(std::move(ports)),
      backoff_(options_.backoff_base_ms, options_.backoff_cap_ms, ports_.random),
      acknowledged_(spool.Stats().low_water) {}

Uplink::~Uplink() = default;

void Uplink::Post(Input input) {
  {
    absl::MutexLock lock(&mutex_);
    inputs_.push_back(std::move(input));
  }
  ports_.wake();
}

void Uplink::Reconnect(std::vector<std::string> servers) {
  Post({.kind = Input::Kind::kReconnect, .line = 0, .message = {}, .status = {}, .servers = std::move(servers)});
}

void Uplink::Stop() {
  Post({.kind = Input::Kind::kStop, .line = 0, .message = {}, .status = {}, .servers = {}});
}

void Uplink::SetProgress(v1::TaskProgress progress, bool last) {
  {
    absl::MutexLock lock(&mutex_);
    Progress& slot = progress_[progress.task_id()];
    slot.newest = std::move(progress);
    slot.fresh = true;
    slot.last = last;
    slot.forgotten = false;
  }
  ports_.wake();
}

void Uplink::Ask(v1::ContentQuestion question) {
  {
    absl::MutexLock lock(&mutex_);
    questions_.push_back(std::move(question));
  }
  ports_.wake();
}

void Uplink::ForgetProgress(const std::string& task_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = progress_.find(task_id);
  if (found == progress_.end()) return;
  found->second.forgotten = true;
  if (!found->second.fresh || !found->second.last) progress_.erase(found);
}

std::int64_t Uplink::Step() {
  const std::int64_t now = ports_.steady_ms();
  TakeInputs(now);
  const bool due = now >= due_ms_;
  switch (phase_) {
    case Phase::kWaiting:
      if (due && !spool_is_behind_) Open(now);
      break;
    case Phase::kGreeting:
      if (due) HangUp(absl::DeadlineExceededError("the server did not answer the greeting in time"), now);
      break;
    case Phase::kOnline: Pump(now); break;
    case Phase::kClosing:
      if (due) HangUp(absl::OkStatus(), now);
      break;
    case Phase::kStopped: break;
  }
  return NextDueMs(now);
}

void Uplink::TakeInputs(std::int64_t now) {
  std::deque<Input> inputs;
  {
    absl::MutexLock lock(&mutex_);
    inputs.swap(inputs_);
  }
  for (Input& input : inputs) {
    if (input.kind == Input::Kind::kReconnect) {
      OnReconnect(std::move(input.servers), now);
    } else if (input.kind == Input::Kind::kStop) {
      OnStop(now);
    } else if (line_ == nullptr || input.line != line_->number()) {
      continue;
    } else if (input.kind == Input::Kind::kMessage) {
      OnMessage(input.message, now);
    } else if (input.kind == Input::Kind::kWritten) {
      writing_ = false;
    } else {
      OnClosed(input.status, now);
    }
  }
}

void Uplink::OnMessage(const v1::ServerMessage& message, std::int64_t now) {
  // Whatever the phase: while a session closes, acknowledgements still count, and a task is a task before the Welcome.
  switch (message.kind_case()) {
    case v1::ServerMessage::kWelcome: return OnWelcome(message.welcome(), now);
    case v1::ServerMessage::kAck: return OnAck(message.ack().epoch(), message.ack().durable_sequence());
    case v1::ServerMessage::kTask: return ports_.on_task(message.task());
    case v1::ServerMessage::kCancel: return ports_.on_cancel(message.cancel().task_id());
    case v1::ServerMessage::kDrain:
      planned_retry_ms_ = static_cast<std::int64_t>(
          ports_.random() *
          static_cast<double>(std::clamp<std::int64_t>(message.drain().spread_ms(), 0, kDrainSpreadMaxMs) + 1));
      return BeginClosing(now);
    case v1::ServerMessage::kThrottle:
      ++stats_.throttles;
      throttled_until_ms_ = now + std::clamp<std::int64_t>(message.throttle().retry_after_ms(), 1, kNothingDueMs);
      return;
    case v1::ServerMessage::kResend: return OnResend(message.resend());
    case v1::ServerMessage::kAnswer:
      if (ports_.on_answer) ports_.on_answer(message.answer());
      return;
    case v1::ServerMessage::KIND_NOT_SET: return;  // of a later version
  }
}

void Uplink::OnWelcome(const v1::Welcome& welcome, std::int64_t now) {
  if (phase_ != Phase::kGreeting) return;
  if (welcome.durable_sequence() > spool_.Stats().accepted_sequence) {
    spool_is_behind_ = true;
    return HangUp(absl::DataLossError(absl::StrCat("the server holds records up to ", welcome.durable_sequence(),
                                                   " of this spool, the spool only ", spool_.Stats().accepted_sequence,
                                                   ": its folder was put back to an earlier state")),
                  now);
  }
  phase_ = Phase::kOnline;
  online_since_ms_ = now;
  delivered_ = false;
  window_bytes_ = Lowered(options_.window_bytes, welcome.window_bytes());
  window_records_ = Lowered(options_.window_records, welcome.window_records());
  batch_bytes_max_ = Lowered(options_.batch_bytes_max, welcome.batch_bytes_max());
  heartbeat_ms_ = welcome.heartbeat_ms() > 0 ? std::clamp<std::int64_t>(welcome.heartbeat_ms(), 1'000, kNothingDueMs)
                                             : options_.heartbeat_ms;
  heartbeat_due_ms_ = now;  // the first one at once: the server learns the clock's offset
  throttled_until_ms_ = read_again_ms_ = now;
  next_send_ = welcome.durable_sequence() + 1;
  ++stats_.sessions;
  stats_.connected = true;
  OnAck(spool_.epoch(), welcome.durable_sequence());
  ports_.on_connected(options_.servers[server_], welcome);
}

void Uplink::OnAck(std::uint64_t epoch, std::uint64_t durable_sequence) {
  if (epoch != spool_.epoch()) return;  // of a spool that is gone
  while (!in_flight_.empty() && in_flight_.front().last <= durable_sequence) {
    in_flight_bytes_ -= in_flight_.front().bytes;
    in_flight_records_ -= in_flight_.front().records;
    in_flight_.pop_front();
  }
  if (durable_sequence <= acknowledged_) return;
  // A failure to delete is tried again with the next one; above what was accepted it is refused and changes nothing.
  if (absl::IsInvalidArgument(spool_.Acknowledge(durable_sequence))) return;
  acknowledged_ = durable_sequence;
  delivered_ = true;
  ports_.on_acknowledged(durable_sequence);
}

void Uplink::OnResend(const v1::Resend& resend) {
  if (resend.epoch() != spool_.epoch() || resend.sequence() == 0 || resend.sequence() >= next_send_) return;
  ++stats_.resends;
  next_send_ = resend.sequence();
  prepared_.reset();
  while (!in_flight_.empty() && in_flight_.back().last >= next_send_) {
    in_flight_bytes_ -= in_flight_.back().bytes;
    in_flight_records_ -= in_flight_.back().records;
    in_flight_.pop_back();
  }
}

void Uplink::OnReconnect(std::vector<std::string> servers, std::int64_t now) {
  if (!servers.empty()) {
    options_.servers = std::move(servers);
    server_ = 0;
  }
  if (phase_ == Phase::kWaiting) {
    due_ms_ = now;
  } else if (phase_ == Phase::kGreeting || phase_ == Phase::kOnline) {
    planned_retry_ms_ = 0;
    BeginClosing(now);
  }
}

void Uplink::OnStop(std::int64_t now) {
  stopping_ = true;
  if (phase_ == Phase::kWaiting) {
    phase_ = Phase::kStopped;
  } else if (phase_ == Phase::kGreeting || phase_ == Phase::kOnline) {
    BeginClosing(now);
  }
}

void Uplink::Open(std::int64_t now) {
  phase_ = Phase::kGreeting;
  due_ms_ = now + options_.greeting_timeout_ms;
  planned_retry_ms_.reset();
  in_flight_.clear();
  in_flight_bytes_ = in_flight_records_ = 0;
  prepared_.reset();
  line_ = std::make_unique<Line>(*this, ++lines_);
  line_->stream = transport_.Open(options_.servers[server_], *line_);
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello = ports_.hello();
  const SpoolStats stats = spool_.Stats();
  hello.set_protocol(kUplinkProtocol);
  hello.set_epoch(stats.epoch);
  hello.set_first_available(stats.low_water + 1);
  hello.set_next_sequence(stats.next_sequence);
  hello.set_wall_unix_ms(ports_.wall_ms());
  Write(std::move(message));
}

void Uplink::BeginClosing(std::int64_t now) {
  if (phase_ != Phase::kGreeting && phase_ != Phase::kOnline) return;
  if (IsHealthy(now)) LeaveHealthy(now);
  phase_ = Phase::kClosing;
  stats_.connected = false;
  due_ms_ = now + options_.closing_timeout_ms;
  line_->stream->CloseWrites();
}

void Uplink::HangUp(const absl::Status& why, std::int64_t now) {
  OnClosed(why, now);
}

void Uplink::OnClosed(const absl::Status& status, std::int64_t now) {
  {
    absl::MutexLock lock(&mutex_);
    questions_.clear();
  }
  const std::int64_t delay = RetryDelay(status, now);
  line_.reset();
  writing_ = false;
  stats_.connected = false;
  phase_ = stopping_ ? Phase::kStopped : Phase::kWaiting;
  due_ms_ = now + delay;
  if (!stopping_) ports_.on_disconnected(options_.servers[server_], status, delay);
}

std::int64_t Uplink::RetryDelay(const absl::Status& why, std::int64_t now) {
  if (planned_retry_ms_) return *planned_retry_ms_;
  if (IsHealthy(now)) {
    LeaveHealthy(now);
  } else {
    server_ = (server_ + 1) % options_.servers.size();
  }
  if (IsRefusal(why)) return backoff_.RefusedMs();
  const bool restarting = healthy_until_ms_ && now - *healthy_until_ms_ < options_.restart_ms;
  return restarting ? backoff_.NextMs(options_.restart_cap_ms) : backoff_.NextMs();
}

bool Uplink::IsHealthy(std::int64_t now) const {
  return phase_ == Phase::kOnline && (delivered_ || now - online_since_ms_ >= options_.healthy_after_ms);
}

void Uplink::LeaveHealthy(std::int64_t now) {
  backoff_.Reset();
  healthy_until_ms_ = now;
}

void Uplink::Write(v1::AgentMessage message) {
  writing_ = true;
  line_->stream->Write(std::move(message));
}

void Uplink::Pump(std::int64_t now) {
  if (writing_) return;
  if (WriteHeartbeat(now) || WriteQuestion() || WriteProgress(now)) return;
  WriteBatch(now);
}

bool Uplink::WriteHeartbeat(std::int64_t now) {
  if (now < heartbeat_due_ms_) return false;
  heartbeat_due_ms_ = now + heartbeat_ms_;
  v1::AgentMessage message;
  v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  const SpoolStats stats = spool_.Stats();
  heartbeat.mutable_spool()->set_bytes(static_cast<std::int64_t>(stats.bytes));
  heartbeat.mutable_spool()->set_records(static_cast<std::int64_t>(stats.records));
  heartbeat.mutable_spool()->set_oldest_age_ms(stats.oldest_age_ms);
  heartbeat.set_wall_unix_ms(ports_.wall_ms());
  Write(std::move(message));
  return true;
}

bool Uplink::WriteProgress(std::int64_t now) {
  v1::AgentMessage message;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [task, progress] : progress_) {
      if (!progress.fresh || now < progress.DueMs(options_.progress_interval_ms)) continue;
      *message.mutable_progress() = progress.newest;
      progress.fresh = false;
      progress.sent_ms = now;
      if (progress.forgotten) progress_.erase(std::string(task));
      break;
    }
  }
  if (!message.has_progress()) return false;
  Write(std::move(message));
  return true;
}

bool Uplink::WriteQuestion() {
  v1::AgentMessage message;
  {
    absl::MutexLock lock(&mutex_);
    if (questions_.empty()) return false;
    *message.mutable_question() = std::move(questions_.front());
    questions_.pop_front();
  }
  stats_.bytes_sent += static_cast<std::int64_t>(message.question().digests().size());
  Write(std::move(message));
  return true;
}

bool Uplink::MayRead() const {
  return in_flight_.empty() || (in_flight_bytes_ < window_bytes_ && in_flight_records_ < window_records_);
}

bool Uplink::WriteBatch(std::int64_t now) {
  if (now < throttled_until_ms_) return false;
  if (!prepared_ && MayRead()) prepared_ = Prepare(now);
  if (!prepared_) return false;
  // A record may be larger than the room that is left, or than the whole window: then it goes alone.
  const bool fits = in_flight_bytes_ + prepared_->sent.bytes <= window_bytes_ &&
                    in_flight_records_ + prepared_->sent.records <= window_records_;
  if (!fits && !in_flight_.empty()) return false;
  const Sent sent = prepared_->sent;
  in_flight_.push_back(sent);
  in_flight_bytes_ += sent.bytes;
  in_flight_records_ += sent.records;
  next_send_ = sent.last + 1;
  stats_.bytes_sent += sent.bytes;
  stats_.records_sent += sent.records;
  ++stats_.batches_sent;
  v1::AgentMessage message = std::move(prepared_->message);
  prepared_.reset();
  Write(std::move(message));
  return true;
}

std::optional<Uplink::Prepared> Uplink::Prepare(std::int64_t now) {
  if (now < read_again_ms_) return std::nullopt;
  Prepared prepared;
  v1::Batch& batch = *prepared.message.mutable_batch();
  batch.set_epoch(spool_.epoch());
  std::uint64_t next = next_send_;
  if (next <= acknowledged_) {
    v1::Envelope& gap = *batch.add_envelopes();
    gap.set_sequence(next);
    gap.set_last_sequence(acknowledged_);
    gap.set_gap_reason(std::string(kAcknowledgedBefore));
    prepared.sent = {acknowledged_, kEnvelopeBytes, 1};
    next = acknowledged_ + 1;
  }
  const std::int64_t bytes = std::clamp<std::int64_t>(window_bytes_ - in_flight_bytes_, 1, batch_bytes_max_);
  const std::int64_t records =
      std::clamp<std::int64_t>(window_records_ - in_flight_records_, 1, options_.batch_records_max);
  auto entries = spool_.Read(next, static_cast<std::uint64_t>(bytes), static_cast<std::size_t>(records));
  if (!entries.ok()) {
    read_again_ms_ = now + kReadAgainMs;
  } else {
    for (const SpoolEntry& entry : *entries) {
      AddEnvelope(entry, batch);
      prepared.sent.last = std::max(entry.sequence, entry.last_sequence);
      prepared.sent.bytes += kEnvelopeBytes + static_cast<std::int64_t>(entry.payload.size());
      ++prepared.sent.records;
    }
  }
  if (batch.envelopes_size() == 0) return std::nullopt;
  return prepared;
}

std::int64_t Uplink::NextDueMs(std::int64_t now) {
  std::int64_t due = now + kNothingDueMs;
  if (phase_ == Phase::kStopped || (phase_ == Phase::kWaiting && spool_is_behind_)) return kNothingDueMs;
  if (phase_ != Phase::kOnline) return std::clamp<std::int64_t>(due_ms_ - now, 0, kNothingDueMs);
  if (writing_) return kNothingDueMs;
  due = std::min(due, heartbeat_due_ms_);
  if (throttled_until_ms_ > now) due = std::min(due, throttled_until_ms_);
  if (read_again_ms_ > now) due = std::min(due, read_again_ms_);
  absl::MutexLock lock(&mutex_);
  if (!questions_.empty()) return 0;
  for (const auto& [task, progress] : progress_) {
    if (progress.fresh) due = std::min(due, progress.DueMs(options_.progress_interval_ms));
  }
  return std::max<std::int64_t>(0, due - now);
}

}  // namespace paritect
