// Sessions of agents and the path of their batches.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "server/fleet.h"
#include "server/ingest.h"

namespace paritect {
namespace {

constexpr int kProtocol = 1;
constexpr std::size_t kProgressTextBytesMax = 1024;
constexpr std::int64_t kOverBudgetWaitMs = 5000;
constexpr std::int64_t kRecordCostBytes = 256;  // a record's rows, beside its bytes

std::int64_t SizeOf(const v1::Batch& batch) {
  return static_cast<std::int64_t>(batch.ByteSizeLong());
}

// What a node says of its work is kept and shown: no more of it than a line.
v1::TaskProgress ForWatchers(v1::TaskProgress progress) {
  progress.set_stage(progress.stage().substr(0, kProgressTextBytesMax));
  progress.set_current(DisplayBytes(absl::string_view(progress.current()).substr(0, kProgressTextBytesMax)));
  return progress;
}

}  // namespace

std::shared_ptr<Fleet::Node> Fleet::FindNode(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

std::shared_ptr<Fleet::Node> Fleet::NodeOf(SessionId session) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second;
}

absl::StatusOr<Fleet::SessionId> Fleet::Open(const std::string& name, const v1::Hello& hello,
                                             std::shared_ptr<AgentLink> link, const std::string& address) {
  if (hello.protocol() != kProtocol) {
    return absl::FailedPreconditionError(absl::StrCat("the agent speaks protocol ", hello.protocol(), ", this server ",
                                                      kProtocol, "; update the older of the two"));
  }
  if (hello.epoch() == 0) return absl::InvalidArgumentError("a spool's epoch cannot be 0");
  if (const std::size_t bytes = hello.ByteSizeLong(); bytes > options_.hello_bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("a hello of ", bytes, " bytes (labels, roots, mounts); at most ",
                                                   options_.hello_bytes_max));
  }
  std::shared_ptr<Node> node;
  SessionId session = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return absl::PermissionDeniedError(absl::StrCat("'", name, "' is not enrolled"));
    node = found->second;
    {
      std::lock_guard<std::mutex> node_lock(node->mutex);
      if (node->watermarks.size() >= options_.epochs_max && node->watermarks.count(hello.epoch()) == 0) {
        return absl::ResourceExhaustedError(absl::StrCat("the spool of '", name, "' was made anew ",
                                                         node->watermarks.size(),
                                                         " times; enrol the node under another name"));
      }
    }
    session = next_session_++;
    sessions_[session] = node;
  }
  {
    std::lock_guard<std::mutex> lock(counters_mutex_);
    ++counters_.sessions;
  }
  bool welcomed = false;
  {
    std::lock_guard<std::mutex> lock(node->mutex);
    welcomed = Take(*node, session, hello, std::move(link), address);
  }
  if (welcomed) SendTasks(node, session);
  return session;
}

// Under the node's mutex. False: the welcome waits for the commit of the session before.
bool Fleet::Take(Node& node, SessionId session, const v1::Hello& hello, std::shared_ptr<AgentLink> link,
                 const std::string& address) {
  NoteOrigin(node, hello, address);
  if (node.link != nullptr) {
    node.link->Close(absl::AbortedError(absl::StrCat("another session of '", node.name, "' took this one's place")));
  }
  node.session = session;
  node.link = std::move(link);
  node.hello = hello;
  node.hello.set_program(DisplayBytes(absl::string_view(hello.program()).substr(0, kProgramBytesMax)));
  node.spool_known = false;
  node.task.Clear();
  node.waiting.clear();
  node.waiting_bytes = 0;
  node.question = 0;
  node.resend_asked = false;
  NoteClock(node, hello.wall_unix_ms());
  node.welcome_owed = node.committing;
  if (!node.committing) Welcome(node);
  return !node.committing;
}

// A session that takes the place of a dead one is a reconnect. Where the one that lost its place was alive and the one
// before it comes back, there are two agents: a credential was stolen, or copied with a machine.
void Fleet::NoteOrigin(Node& node, const v1::Hello& hello, const std::string& address) {
  const std::string origin = absl::StrCat(address, " ", hello.boot_id(), " ", hello.epoch());
  if (origin == node.origin) return;
  const bool alive = node.link != nullptr && clock_() - node.last_seen_unix_ms < options_.online_ms;
  if (alive && origin == node.origin_before) {
    ++node.contests;
    node.contested_unix_ms = clock_();
    node.other_address = node.address;
    if (ports_.contested) ports_.contested(node.name, address, node.address);
    std::lock_guard<std::mutex> lock(counters_mutex_);
    ++counters_.contests;
  }
  node.origin_before = node.origin;
  node.origin = origin;
  node.address = address;
}

// Under the node's mutex.
void Fleet::HangUp(Node& node, absl::Status why) {
  node.problem = DisplayBytes(why.message());
  node.problem_unix_ms = clock_();
  node.link->Close(std::move(why));
}

// Under the node's mutex: takes the bytes off what the node may have stored by now.
bool Fleet::WithinBudget(Node& node, std::int64_t bytes) {
  const std::int64_t now = clock_();
  if (node.budget_at_ms == 0) node.budget_bytes = options_.node_burst_bytes;
  const std::int64_t since_ms = node.budget_at_ms == 0 ? 0 : std::max<std::int64_t>(0, now - node.budget_at_ms);
  const std::int64_t full_ms = options_.node_burst_bytes / options_.node_bytes_per_s * 1000;
  const std::int64_t more = std::min(since_ms, full_ms) * options_.node_bytes_per_s / 1000;
  node.budget_bytes = std::min(options_.node_burst_bytes, node.budget_bytes + more);
  node.budget_at_ms = now;
  if (node.budget_bytes < bytes) return false;
  node.budget_bytes -= bytes;
  return true;
}

void Fleet::NoteClock(Node& node, std::int64_t wall_unix_ms) {
  node.last_seen_unix_ms = clock_();
  node.seen_changed = true;
  if (wall_unix_ms == 0) return;
  // The way here is not taken off: it is milliseconds, and only seconds are of interest.
  node.clock_offset_ms = wall_unix_ms - node.last_seen_unix_ms;
  node.clock_known = true;
}

void Fleet::Welcome(Node& node) {
  node.welcome_owed = false;
  v1::ServerMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_program(options_.program);
  welcome.set_node(node.name);
  const auto watermark = node.watermarks.find(node.hello.epoch());
  welcome.set_durable_sequence(watermark == node.watermarks.end() ? 0 : watermark->second.durable_sequence());
  welcome.set_window_bytes(options_.window_bytes);
  welcome.set_window_records(options_.window_records);
  welcome.set_batch_bytes_max(options_.batch_bytes_max);
  welcome.set_heartbeat_ms(options_.heartbeat_ms);
  welcome.set_question_digests_max(options_.question_digests_max);
  welcome.set_server_unix_ms(clock_());
  node.link->Send(message);
}

// Without the node's mutex: audits lock themselves before they lock a node. A task may so be sent twice; agents know.
void Fleet::SendTasks(const std::shared_ptr<Node>& node, SessionId session) {
  std::set<std::string> done;
  {
    std::lock_guard<std::mutex> lock(node->mutex);
    if (node->session != session) return;
    done.insert(node->hello.tasks_done().begin(), node->hello.tasks_done().end());
  }
  std::vector<v1::Task> tasks = ports_.tasks_for(node->name, done);
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->session != session) return;
  for (v1::Task& task : tasks) {
    v1::ServerMessage order;
    *order.mutable_task() = std::move(task);
    node->link->Send(order);
  }
}

void Fleet::Closed(SessionId session) {
  std::shared_ptr<Node> node;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    node = found->second;
    sessions_.erase(found);
  }
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->session != session) return;
  node->session = 0;
  node->link = nullptr;
  node->waiting.clear();
  node->waiting_bytes = 0;
  node->welcome_owed = false;
}

void Fleet::Receive(SessionId session, const v1::AgentMessage& message) {
  const std::shared_ptr<Node> node = NodeOf(session);
  if (node == nullptr) return;
  if (message.has_progress()) {
    {
      std::lock_guard<std::mutex> lock(node->mutex);
      if (node->session != session) return;
      NoteClock(*node, 0);
      node->task = ForWatchers(message.progress());
    }
    ports_.progress(node->name, ForWatchers(message.progress()));
    return;
  }
  if (message.has_question()) {
    {
      std::lock_guard<std::mutex> lock(node->mutex);
      if (node->session != session || !TakeQuestion(*node, message.question())) return;
    }
    ports_.defer([this, node, session, question = message.question()] { AnswerQuestion(node, session, question); });
    return;
  }
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->session != session) return;
  if (message.has_heartbeat()) {
    NoteClock(*node, message.heartbeat().wall_unix_ms());
    node->spool = message.heartbeat().spool();
    node->spool_known = true;
  } else if (message.has_batch()) {
    NoteClock(*node, 0);
    ReceiveBatch(node, message.batch());
  } else {
    HangUp(*node, absl::InvalidArgumentError("a message that this server does not know, or a second hello"));
  }
}

// Under the node's mutex.
void Fleet::ReceiveBatch(const std::shared_ptr<Node>& node, const v1::Batch& batch) {
  if (batch.epoch() != node->hello.epoch()) {
    HangUp(*node, absl::InvalidArgumentError("a batch of another epoch than the hello's"));
    return;
  }
  const std::int64_t bytes = SizeOf(batch);
  // Twice the window: what was in flight when the window shrank is no offence.
  if (node->waiting_bytes + bytes > 2 * options_.window_bytes + options_.batch_bytes_max) {
    HangUp(*node, absl::ResourceExhaustedError("more bytes in flight than the window allows"));
    return;
  }
  node->waiting.push_back(batch);
  node->waiting_bytes += bytes;
  if (!node->committing) Commit(node);
}

void Fleet::AskAgain(Node& node, std::uint64_t epoch, std::uint64_t sequence) {
  node.waiting.clear();
  node.waiting_bytes = 0;
  node.resend_asked = true;
  if (node.link == nullptr) return;
  v1::ServerMessage message;
  message.mutable_resend()->set_epoch(epoch);
  message.mutable_resend()->set_sequence(sequence);
  node.link->Send(message);
  std::lock_guard<std::mutex> lock(counters_mutex_);
  ++counters_.resends;
}

// Under the node's mutex: sends what waits to the disk, unless something of this node is on its way there.
void Fleet::Commit(const std::shared_ptr<Node>& node) {
  while (!node->committing && !node->waiting.empty()) CommitWaiting(node);
}

// As one write set, up to the size of a batch.
void Fleet::CommitWaiting(const std::shared_ptr<Node>& node) {
  const std::uint64_t epoch = node->hello.epoch();
  v1::Batch all;
  all.set_epoch(epoch);
  std::int64_t taken_bytes = 0;
  while (!node->waiting.empty() && taken_bytes < options_.batch_bytes_max) {
    const std::int64_t bytes = SizeOf(node->waiting.front());
    taken_bytes += std::max<std::int64_t>(1, bytes);
    node->waiting_bytes -= bytes;
    all.MergeFrom(node->waiting.front());
    node->waiting.pop_front();
  }
  all.set_epoch(epoch);
  const v1::Watermark& durable = node->watermarks[epoch];
  // After "send again from N" the batches that were already on their way are of no use and no offence.
  if (node->resend_asked && all.envelopes_size() > 0 && all.envelopes(0).sequence() > durable.durable_sequence() + 1) {
    return;
  }
  node->resend_asked = false;
  if (!WithinBudget(*node, taken_bytes + all.envelopes_size() * kRecordCostBytes)) {
    return AskToWait(*node, epoch, durable.durable_sequence() + 1, kOverBudgetWaitMs);
  }
  auto result = IngestBatch(node->name, durable, all, clock_());
  if (!result.ok()) {
    node->waiting.clear();
    node->waiting_bytes = 0;
    HangUp(*node, result.status());
    return;
  }
  {
    std::lock_guard<std::mutex> lock(counters_mutex_);
    ++counters_.batches;
    counters_.records += result->records;
    counters_.duplicates += result->duplicates;
    counters_.refused += result->refused;
    counters_.lost += result->lost;
  }
  if (result->resend_from) AskAgain(*node, epoch, *result->resend_from);
  if (result->set.empty()) {
    // Only what is known already: tell again how far it is.
    v1::ServerMessage message;
    message.mutable_ack()->set_epoch(epoch);
    message.mutable_ack()->set_durable_sequence(durable.durable_sequence());
    if (node->link != nullptr) node->link->Send(message);
    return;
  }
  node->committing = true;
  const auto done = [this, node, epoch, watermark = result->watermark, ended = result->ended, steps = result->steps](
                        absl::Status status) { Committed(node, epoch, watermark, ended, steps, status); };
  const absl::Status accepted = ports_.submit(std::move(result->set), done);
  if (accepted.ok()) return;
  node->committing = false;
  AskToWait(*node, epoch, durable.durable_sequence() + 1, ports_.retry_after_ms());
}

// Under the node's mutex.
void Fleet::AskToWait(Node& node, std::uint64_t epoch, std::uint64_t sequence, std::int64_t wait_ms) {
  AskAgain(node, epoch, sequence);
  v1::ServerMessage message;
  message.mutable_throttle()->set_retry_after_ms(wait_ms);
  if (node.link != nullptr) node.link->Send(message);
  std::lock_guard<std::mutex> lock(counters_mutex_);
  ++counters_.throttles;
}

void Fleet::Committed(const std::shared_ptr<Node>& node, std::uint64_t epoch, v1::Watermark watermark,
                      std::vector<v1::TaskEnd> ended, std::vector<v1::StepChunk> steps, absl::Status status) {
  SessionId welcomed = 0;
  {
    std::lock_guard<std::mutex> lock(node->mutex);
    node->committing = false;
    v1::Watermark& durable = node->watermarks[epoch];
    if (status.ok()) {
      node->lost_records += watermark.lost_records() - durable.lost_records();
      durable = watermark;
    }
    if (node->welcome_owed) {
      // The session that these records came by is gone; the new one is told where it stands.
      Welcome(*node);
      welcomed = node->session;
    } else if (node->link != nullptr && status.ok()) {
      v1::ServerMessage message;
      message.mutable_ack()->set_epoch(epoch);
      message.mutable_ack()->set_durable_sequence(durable.durable_sequence());
      node->link->Send(message);
    } else if (node->link != nullptr) {
      v1::ServerMessage message;
      message.mutable_throttle()->set_retry_after_ms(ports_.retry_after_ms());
      node->link->Send(message);
      AskAgain(*node, epoch, durable.durable_sequence() + 1);
    }
    if (node->link != nullptr) Commit(node);
  }
  if (welcomed != 0) ports_.defer([this, node, welcomed] { SendTasks(node, welcomed); });
  if (!status.ok()) return;
  for (v1::StepChunk& chunk : steps) {
    if (!ports_.steps) break;
    ports_.defer([this, node, chunk = std::move(chunk)] { ports_.steps(node->name, chunk); });
  }
  for (const v1::TaskEnd& end : ended) {
    {
      std::lock_guard<std::mutex> lock(node->mutex);
      if (node->task.task_id() == end.task_id()) node->task.Clear();
    }
    ports_.defer([this, node, epoch, end] {
      ports_.task_end(node->name, epoch, end);
      DropLeases(node->name, end.task_id());
    });
  }
}

void Fleet::Dispatch(const std::string& name, const v1::Task& task) {
  const std::shared_ptr<Node> node = FindNode(name);
  if (node == nullptr) return;
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->link == nullptr || node->welcome_owed) return;  // Welcome sends what is owed
  v1::ServerMessage message;
  *message.mutable_task() = task;
  node->link->Send(message);
}

void Fleet::Cancel(const std::string& name, const std::string& task_id) {
  const std::shared_ptr<Node> node = FindNode(name);
  if (node == nullptr) return;
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->link == nullptr) return;
  v1::ServerMessage message;
  message.mutable_cancel()->set_task_id(task_id);
  node->link->Send(message);
}

void Fleet::Drain(std::int64_t spread_ms) {
  std::vector<std::shared_ptr<Node>> nodes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, node] : nodes_) nodes.push_back(node);
  }
  v1::ServerMessage message;
  message.mutable_drain()->set_spread_ms(spread_ms);
  for (const std::shared_ptr<Node>& node : nodes) {
    std::lock_guard<std::mutex> lock(node->mutex);
    if (node->link != nullptr) node->link->Send(message);
  }
}

}  // namespace paritect
