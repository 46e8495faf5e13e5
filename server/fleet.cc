#include "server/fleet.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/agent_says.h"
#include "server/content_question.h"
#include "server/holder_record.h"
#include "server/ingest.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kCollection = "node";
constexpr int kProtocol = 1;
constexpr std::int64_t kOverBudgetWaitMs = 5000;
constexpr std::int64_t kRecordCostBytes = 256;  // a record's rows, beside its bytes

// A damaged key gives epoch 0, which no spool has.
std::uint64_t EpochOf(absl::string_view hex) {
  std::uint64_t epoch = 0;
  return absl::SimpleHexAtoi(hex, &epoch) ? epoch : 0;
}

std::int64_t SizeOf(const v1::Batch& batch) {
  return static_cast<std::int64_t>(batch.ByteSizeLong());
}

}  // namespace

Fleet::Fleet(FleetStore& store, WallClock clock, FleetOptions options, FleetPorts ports)
    : store_(store), clock_(std::move(clock)), options_(options), ports_(std::move(ports)) {}

absl::Status Fleet::Load() {
  absl::MutexLock lock(&mutex_);
  PARITECT_RETURN_IF_ERROR(store_.Scan(kCollection, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::NodeRecord record;
    if (!record.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    if (record.role() == v1::ACCESS_ROLE_AGENT) {
      auto node = NewNode(record.name());
      node->last_seen_unix_ms = record.last_seen_unix_ms();
      node->hello = record.hello();
      node->address = record.address();
      nodes_[record.name()] = std::move(node);
    }
    holders_[std::string(key)] = std::move(record);
    return true;
  }));
  PARITECT_RETURN_IF_ERROR(ReadJournal());
  return store_.Scan("watermark", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::Watermark watermark;
    const std::vector<std::string> parts = absl::StrSplit(key, '/');
    const auto node = nodes_.find(parts[0]);
    if (parts.size() != 2 || node == nodes_.end()) return true;
    if (!watermark.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    node->second->lost_records += watermark.lost_records();
    node->second->watermarks[EpochOf(parts[1])] = std::move(watermark);
    return true;
  });
}

absl::Status Fleet::ReadJournal() {
  if (ports_.holders == nullptr) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(const std::vector<HolderLine> lines, ports_.holders->ReadNew());
  for (const HolderLine& line : lines) {
    ApplyHolderLine(line, holders_[HolderKey(RoleWord(line.role), line.name)]);
    if (line.role == v1::ACCESS_ROLE_AGENT) nodes_.try_emplace(line.name, NewNode(line.name));
  }
  return absl::OkStatus();
}

// Who was seen once is known after a restart too, and can be revoked then.
void Fleet::Remember(const std::string& key, const v1::NodeRecord& record) {
  if (!ports_.submit) return;
  WriteSet set;
  set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  ports_.submit(std::move(set), [](const absl::Status&) {}).IgnoreError();
}

absl::StatusOr<WriteSet> Fleet::PrepareEnrolment(v1::NodeRecord record, bool replace) {
  absl::MutexLock lock(&mutex_);
  const std::string key = HolderKey(RoleWord(record.role()), record.name());
  const auto known = holders_.find(key);
  if (known != holders_.end()) {
    PARITECT_RETURN_IF_ERROR(EnrolAgain(known->second, replace, clock_() / 1000, record));
  }
  record.set_state("active");
  WriteSet set;
  set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  return set;
}

void Fleet::Enrolled(const WriteSet& set) {
  absl::MutexLock lock(&mutex_);
  for (const DocumentWrite& document : set.documents) {
    v1::NodeRecord record;
    if (document.collection != kCollection || !document.value || !record.ParseFromString(*document.value)) continue;
    if (record.role() == v1::ACCESS_ROLE_AGENT && nodes_.count(record.name()) == 0) {
      nodes_[record.name()] = NewNode(record.name());
    }
    if (ports_.holders != nullptr && record.state() == "active" && record.revoked_unix() != 0) {
      // One that cannot be written is refused after a restore of an older backup, and joins again.
      ports_.holders->Append(HolderLineOf(HolderEvent::kEnrolled, record, clock_() / 1000)).IgnoreError();
    }
    holders_[document.key] = std::move(record);
  }
}

absl::Status Fleet::Accepts(const v1::NodeRecord& peer) {
  absl::MutexLock lock(&mutex_);
  const std::string key = HolderKey(RoleWord(peer.role()), peer.name());
  auto found = holders_.find(key);
  // Somebody may have issued a certificate on this machine since.
  if (found == holders_.end() || found->second.state() == "revoked") PARITECT_RETURN_IF_ERROR(ReadJournal());
  auto [known, fresh] = holders_.try_emplace(key, peer);
  v1::NodeRecord& record = known->second;
  if (peer.role() != v1::ACCESS_ROLE_AGENT) record.set_last_seen_unix_ms(clock_());
  if (fresh && peer.role() == v1::ACCESS_ROLE_AGENT) {
    nodes_.try_emplace(peer.name(), NewNode(peer.name()));
  }
  PARITECT_RETURN_IF_ERROR(CheckHolder(record, peer));
  if (fresh || record.state() == "issued") {
    record.set_state("active");
    Remember(key, record);
  }
  return absl::OkStatus();
}

void Fleet::FillSeen(const std::string& key, v1::NodeRecord& record) {
  if (record.role() != v1::ACCESS_ROLE_AGENT) return;
  const auto found = nodes_.find(record.name());
  if (found == nodes_.end() || key != HolderKey(RoleWord(record.role()), record.name())) return;
  Node& node = *found->second;
  absl::MutexLock lock(&node.mutex);
  record.set_last_seen_unix_ms(std::max(record.last_seen_unix_ms(), node.last_seen_unix_ms));
  if (node.hello.protocol() != 0) *record.mutable_hello() = node.hello;
  // Numbers that a killed agent had reserved are no records: what waits is what the node says waits.
  const auto waiting = static_cast<std::uint64_t>(std::max<std::int64_t>(0, node.spool.records()));
  if (node.spool_known && node.hello.next_sequence() > waiting) {
    record.mutable_hello()->set_first_available(node.hello.next_sequence() - waiting);
  }
  if (!node.address.empty()) record.set_address(node.address);
  if (node.spool_known) *record.mutable_spool() = node.spool;
  record.set_contests(node.contests);
  record.set_contested_unix_ms(node.contested_unix_ms);
  record.set_other_address(node.other_address);
  record.set_problem(node.problem);
  record.set_problem_unix_ms(node.problem_unix_ms);
  *record.mutable_task() = node.task;
  record.set_clock_offset_known(node.clock_known);
  record.set_clock_offset_ms(node.clock_offset_ms);
}

std::vector<v1::NodeRecord> Fleet::Holders() {
  absl::MutexLock lock(&mutex_);
  ReadJournal().IgnoreError();  // one that cannot be read shows at a start, and where somebody is revoked
  std::vector<v1::NodeRecord> out;
  for (const auto& [key, holder] : holders_) {
    if (holder.forgotten()) continue;
    out.push_back(holder);
    FillSeen(key, out.back());
  }
  return out;
}

std::vector<KnownNode> Fleet::Agents() {
  absl::MutexLock lock(&mutex_);
  const std::int64_t now = clock_();
  std::vector<KnownNode> out;
  for (const auto& [name, node] : nodes_) {
    const auto holder = holders_.find(HolderKey(RoleWord(v1::ACCESS_ROLE_AGENT), name));
    if (holder == holders_.end() || holder->second.forgotten()) continue;
    absl::MutexLock node_lock(&node->mutex);
    KnownNode known;
    known.name = name;
    known.revoked = holder->second.state() == "revoked";
    known.online = !known.revoked && node->session != 0 && now - node->last_seen_unix_ms < options_.online_ms;
    known.last_seen_unix_ms = node->last_seen_unix_ms;
    if (node->clock_known) known.clock_offset_ms = node->clock_offset_ms;
    known.lost_records = node->lost_records;
    known.contested_unix_ms = node->contested_unix_ms;
    known.mounts = {node->hello.mounts().begin(), node->hello.mounts().end()};
    out.push_back(std::move(known));
  }
  return out;
}

absl::StatusOr<WriteSet> Fleet::PrepareRevocation(const std::string& name, const std::string& by, bool forget,
                                                  const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  PARITECT_RETURN_IF_ERROR(ReadJournal());
  WriteSet set;
  for (const auto& [key, holder] : holders_) {
    const bool revoked = holder.state() == "revoked";
    if (holder.name() != name || holder.forgotten() || (revoked && !forget)) continue;
    v1::NodeRecord record = holder;
    if (!revoked) MarkRevoked(by, reason, clock_() / 1000, record);
    record.set_forgotten(forget);
    // First: a revocation that the database does not get is one all the same.
    if (ports_.holders != nullptr) {
      const HolderEvent event = forget ? HolderEvent::kForgotten : HolderEvent::kRevoked;
      PARITECT_RETURN_IF_ERROR(ports_.holders->Append(HolderLineOf(event, record, record.revoked_unix())));
    }
    set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  }
  if (!set.documents.empty()) return set;
  return absl::NotFoundError(
      absl::StrCat("there is no active node or person named '", name, "' (`paritect node ls` lists all)"));
}

void Fleet::Revoked(const WriteSet& set, const std::string& name) {
  Enrolled(set);
  std::shared_ptr<Node> node = FindNode(name);
  if (node == nullptr) return;
  absl::MutexLock lock(&node->mutex);
  if (node->link != nullptr) node->link->Close(absl::PermissionDeniedError(absl::StrCat("'", name, "' was revoked")));
}

WriteSet Fleet::SeenSet() {
  absl::MutexLock lock(&mutex_);
  WriteSet set;
  for (auto& [key, holder] : holders_) {
    if (holder.role() != v1::ACCESS_ROLE_AGENT) continue;
    const auto node = nodes_.find(holder.name());
    if (node == nodes_.end()) continue;
    {
      absl::MutexLock node_lock(&node->second->mutex);
      if (!node->second->seen_changed) continue;
      node->second->seen_changed = false;
    }
    FillSeen(key, holder);
    holder.clear_task();
    set.documents.push_back({std::string(kCollection), key, holder.SerializeAsString(), {}});
  }
  return set;
}

FleetCounters Fleet::counters() {
  const std::vector<KnownNode> agents = Agents();
  absl::MutexLock lock(&mutex_);
  absl::MutexLock counters_lock(&counters_mutex_);
  FleetCounters counters = counters_;
  counters.online = static_cast<std::int64_t>(sessions_.size());
  counters.nodes = static_cast<std::int64_t>(nodes_.size());
  counters.silent = std::count_if(agents.begin(), agents.end(), [](const KnownNode& node) {
    return !node.revoked && !node.online && node.last_seen_unix_ms != 0;
  });
  return counters;
}

// --- sessions and the path of their batches ----------------------------------------------------------------------

std::shared_ptr<Fleet::Node> Fleet::NewNode(const std::string& name) const {
  return std::make_shared<Node>(name, ByteBudget(options_.node_burst_bytes, options_.node_bytes_per_s));
}

std::shared_ptr<Fleet::Node> Fleet::FindNode(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

std::shared_ptr<Fleet::Node> Fleet::NodeOf(SessionId session) {
  absl::MutexLock lock(&mutex_);
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
    return absl::InvalidArgumentError(
        absl::StrCat("a hello of ", bytes, " bytes (labels, roots, mounts); at most ", options_.hello_bytes_max));
  }
  std::shared_ptr<Node> node;
  SessionId session = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return absl::PermissionDeniedError(absl::StrCat("'", name, "' is not enrolled"));
    node = found->second;
    {
      absl::MutexLock node_lock(&node->mutex);
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
    absl::MutexLock lock(&counters_mutex_);
    ++counters_.sessions;
  }
  bool welcomed = false;
  {
    absl::MutexLock lock(&node->mutex);
    welcomed = Take(*node, session, hello, std::move(link), address);
  }
  if (welcomed) SendTasks(node, session);
  return session;
}

// False: the welcome waits for the commit of the session before.
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
    absl::MutexLock lock(&counters_mutex_);
    ++counters_.contests;
  }
  node.origin_before = node.origin;
  node.origin = origin;
  node.address = address;
}

void Fleet::HangUp(Node& node, absl::Status why) {
  node.problem = DisplayBytes(why.message());
  node.problem_unix_ms = clock_();
  node.link->Close(std::move(why));
}

void Fleet::NoteClock(Node& node, std::int64_t wall_unix_ms) {
  node.last_seen_unix_ms = clock_();
  node.seen_changed = true;
  if (wall_unix_ms == 0) return;
  // The way here is not taken off: it is milliseconds, and only seconds are of interest.
  node.clock_offset_ms = PlausibleClock(wall_unix_ms) - node.last_seen_unix_ms;
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
    absl::MutexLock lock(&node->mutex);
    if (node->session != session) return;
    done.insert(node->hello.tasks_done().begin(), node->hello.tasks_done().end());
  }
  std::vector<v1::Task> tasks = ports_.tasks_for(node->name, done);
  absl::MutexLock lock(&node->mutex);
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
    absl::MutexLock lock(&mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    node = found->second;
    sessions_.erase(found);
  }
  absl::MutexLock lock(&node->mutex);
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
      absl::MutexLock lock(&node->mutex);
      if (node->session != session) return;
      NoteClock(*node, 0);
      node->task = Plausible(message.progress());
    }
    ports_.progress(node->name, Plausible(message.progress()));
    return;
  }
  if (message.has_question()) {
    {
      absl::MutexLock lock(&node->mutex);
      if (node->session != session || !TakeQuestion(*node, message.question())) return;
    }
    ports_.defer([this, node, session, question = message.question()] { AnswerQuestion(node, session, question); });
    return;
  }
  absl::MutexLock lock(&node->mutex);
  if (node->session != session) return;
  if (message.has_heartbeat()) {
    NoteClock(*node, message.heartbeat().wall_unix_ms());
    node->spool = Plausible(message.heartbeat().spool());
    node->spool_known = true;
  } else if (message.has_batch()) {
    NoteClock(*node, 0);
    ReceiveBatch(node, message.batch());
  } else {
    HangUp(*node, absl::InvalidArgumentError("a message that this server does not know, or a second hello"));
  }
}

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
  absl::MutexLock lock(&counters_mutex_);
  ++counters_.resends;
}

// Sends what waits to the disk, unless something of this node is on its way there.
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
  if (!node->budget.Take(taken_bytes + all.envelopes_size() * kRecordCostBytes, clock_())) {
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
    absl::MutexLock lock(&counters_mutex_);
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

void Fleet::AskToWait(Node& node, std::uint64_t epoch, std::uint64_t sequence, std::int64_t wait_ms) {
  AskAgain(node, epoch, sequence);
  v1::ServerMessage message;
  message.mutable_throttle()->set_retry_after_ms(wait_ms);
  if (node.link != nullptr) node.link->Send(message);
  absl::MutexLock lock(&counters_mutex_);
  ++counters_.throttles;
}

void Fleet::Committed(const std::shared_ptr<Node>& node, std::uint64_t epoch, v1::Watermark watermark,
                      std::vector<v1::TaskEnd> ended, std::vector<v1::StepChunk> steps, absl::Status status) {
  SessionId welcomed = 0;
  {
    absl::MutexLock lock(&node->mutex);
    node->committing = false;
    v1::Watermark& durable = node->watermarks[epoch];
    if (status.ok()) {
      const std::int64_t lost = watermark.lost_records() - durable.lost_records();
      node->lost_records += lost;
      if (lost > 0 && ports_.lost) ports_.lost(node->name, node->address, lost);
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
      absl::MutexLock lock(&node->mutex);
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
  absl::MutexLock lock(&node->mutex);
  if (node->link == nullptr || node->welcome_owed) return;  // Welcome sends what is owed
  v1::ServerMessage message;
  *message.mutable_task() = task;
  node->link->Send(message);
}

void Fleet::Cancel(const std::string& name, const std::string& task_id) {
  const std::shared_ptr<Node> node = FindNode(name);
  if (node == nullptr) return;
  absl::MutexLock lock(&node->mutex);
  if (node->link == nullptr) return;
  v1::ServerMessage message;
  message.mutable_cancel()->set_task_id(task_id);
  node->link->Send(message);
}

void Fleet::Drain(std::int64_t spread_ms) {
  std::vector<std::shared_ptr<Node>> nodes;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, node] : nodes_) nodes.push_back(node);
  }
  v1::ServerMessage message;
  message.mutable_drain()->set_spread_ms(spread_ms);
  for (const std::shared_ptr<Node>& node : nodes) {
    absl::MutexLock lock(&node->mutex);
    if (node->link != nullptr) node->link->Send(message);
  }
}

// False: it is refused, and the session ends.
bool Fleet::TakeQuestion(Node& node, const v1::ContentQuestion& question) {
  NoteClock(node, 0);
  if (!IsSound(question, node.name, static_cast<std::size_t>(options_.question_digests_max))) {
    HangUp(node, absl::InvalidArgumentError("a question of contents that cannot be answered"));
  } else if (node.question != 0) {
    HangUp(node, absl::ResourceExhaustedError("a question of contents before the last was answered"));
  } else {
    node.question = question.id();
    return true;
  }
  return false;
}

void Fleet::AnswerQuestion(const std::shared_ptr<Node>& node, SessionId session, const v1::ContentQuestion& question) {
  const std::string none = NoneHeld(question);
  DocumentWrite lease = LeaseOf(question, node->name, HeldBits(store_, question), clock_());
  if (lease.references.empty()) return Answer(*node, session, question, none);
  WriteSet set;
  set.documents.push_back(std::move(lease));
  const auto done = [this, node, session, question, none](const absl::Status& status) {
    ports_.defer([this, node, session, question, none, ok = status.ok()] {
      // Looked at again: before the lease counted, it could have been dropped.
      Answer(*node, session, question, ok ? HeldBits(store_, question) : none);
    });
  };
  if (!ports_.submit(std::move(set), done).ok()) Answer(*node, session, question, none);
}

void Fleet::Answer(Node& node, SessionId session, const v1::ContentQuestion& question, const std::string& held) {
  v1::ServerMessage message;
  message.mutable_answer()->set_id(question.id());
  message.mutable_answer()->set_held(held);
  absl::MutexLock lock(&node.mutex);
  if (node.session != session || node.question != question.id()) return;
  node.question = 0;
  if (node.link != nullptr) node.link->Send(message);
}

void Fleet::DropLeases(const std::string& node, const std::string& task) {
  WriteSet set;
  const auto scanned = store_.Scan("lease", LeasePrefix(node, task), "", [&](absl::string_view key, absl::string_view) {
    set.documents.push_back({"lease", std::string(key), std::nullopt, {}});
    return true;
  });
  // One that stays is dropped with its age.
  if (scanned.ok() && !set.documents.empty()) (void)ports_.submit(std::move(set), [](const absl::Status&) {});
}

}  // namespace paritect
