// The enrolled nodes, which of them are connected, and the exactly-once path from their batches to the store.
//
// Of each node one batch set at a time is on its way to the disk; what arrives meanwhile waits and goes together in the
// next. So a failed commit can never be followed by a later one that succeeds, which would lose the records between.
// Thread-safe. No gRPC here: a session is an AgentLink.
#ifndef PARITECT_SERVER_FLEET_H_
#define PARITECT_SERVER_FLEET_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "server/agent_link.h"
#include "server/byte_budget.h"
#include "server/holder_journal.h"
#include "server/known_node.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

inline constexpr std::size_t kProgramBytesMax = 120;  // of what an agent says it is

struct FleetOptions {
  std::string program;  // "paritect-server 0.1.0"
  std::int64_t window_bytes = 8 << 20;
  std::int64_t window_records = 50'000;
  std::int64_t batch_bytes_max = 1 << 20;
  std::int64_t heartbeat_ms = 15'000;
  // A connected node that sent nothing for so long counts as gone; its connection may still look alive.
  std::int64_t online_ms = 50'000;
  int question_digests_max = 4096;  // of contents, in one question of an agent
  // What one node may have stored: so much at once, and then so much a second. Far above what honest work needs; who
  // sends more is asked to wait, and loses nothing.
  std::int64_t node_burst_bytes = std::int64_t{8} << 30;
  std::int64_t node_bytes_per_s = 1 << 20;
  std::size_t hello_bytes_max = 256 << 10;  // it is stored again and again
  std::size_t epochs_max = 10'000;          // spools of one node that were made anew
};

struct FleetPorts {
  // As Writer::TrySubmit: `done` is called once, in order, unless it refuses at once.
  std::function<absl::Status(WriteSet, std::function<void(absl::Status)>)> submit;
  std::function<std::int64_t()> retry_after_ms;
  // Runs it soon, on another thread: the writer's thread, which tells of a commit, must not wait for the locks of
  // audits, whose holder may be waiting for a commit.
  std::function<void(std::function<void()>)> defer;
  // What the node owes, but for these; called when it has connected.
  std::function<std::vector<v1::Task>(const std::string& node, const std::set<std::string>& done)> tasks_for;
  std::function<void(const std::string& node, const v1::TaskProgress&)> progress;
  std::function<void(const std::string& node, std::uint64_t epoch, const v1::TaskEnd&)> task_end;
  // Steps of a followed log, once they are durable; may be empty.
  std::function<void(const std::string& node, const v1::StepChunk&)> steps;
  // Two agents with that identity take each other's place; may be empty. Called with a node's mutex held.
  std::function<void(const std::string& node, const std::string& address, const std::string& other)> contested;
  // Records of the node are gone for good, as its agent says; may be empty. Called with a node's mutex held.
  std::function<void(const std::string& node, const std::string& address, std::int64_t records)> lost;
  HolderJournal* holders = nullptr;  // outlives the fleet; nullptr: revocations are in the store alone
};

struct FleetCounters {
  std::int64_t records = 0;
  std::int64_t duplicates = 0;
  std::int64_t refused = 0;
  std::int64_t lost = 0;
  std::int64_t batches = 0;
  std::int64_t resends = 0;
  std::int64_t throttles = 0;
  std::int64_t sessions = 0;
  std::int64_t online = 0;
  std::int64_t nodes = 0;
  std::int64_t silent = 0;    // enrolled nodes that were here once and are not now
  std::int64_t contests = 0;  // times that two agents with one identity took each other's place
};

class Fleet {
 public:
  using SessionId = std::uint64_t;

  Fleet(FleetStore& store, WallClock clock, FleetOptions options, FleetPorts ports);

  absl::Status Load();

  // --- identities: every holder of a certificate, agents and persons ---
  // Adds or renews the holder: from now on this serial is accepted (earlier ones until they expire). A write set to be
  // committed with whatever else the enrolment writes; `Enrolled` then makes it count. AlreadyExists: an active holder
  // of that role and name and `replace` is false. PermissionDenied: revoked.
  absl::StatusOr<WriteSet> PrepareEnrolment(v1::NodeRecord record, bool replace);
  void Enrolled(const WriteSet& set);
  // PermissionDenied in words: revoked, or a certificate from before the holder was revoked and enrolled again. A
  // holder that the store does not know (certificates of another authority, a store from an older backup) is taken in
  // and stored: the authority's signature is the proof, the store only knows who was revoked.
  absl::Status Accepts(const v1::NodeRecord& peer);
  std::vector<v1::NodeRecord> Holders();
  // What audits need of the agents, the revoked ones included.
  std::vector<KnownNode> Agents();
  // Marks every holder of that name and ends its session. NotFound. The set must be committed first: see RevocationSet.
  // `forget`: it leaves lists and audits too, also when it was revoked before; the record stays, to refuse.
  absl::StatusOr<WriteSet> PrepareRevocation(const std::string& name, const std::string& by, bool forget,
                                             const std::string& reason = "");
  void Revoked(const WriteSet& set, const std::string& name);

  // --- sessions ---
  // Welcomes the node, then sends what it owes. A second session of one node takes the place of the first.
  // `address`: where it comes from. InvalidArgument, ResourceExhausted: a hello beyond the limits.
  absl::StatusOr<SessionId> Open(const std::string& node, const v1::Hello& hello, std::shared_ptr<AgentLink> link,
                                 const std::string& address = "");
  void Receive(SessionId session, const v1::AgentMessage& message);
  void Closed(SessionId session);
  void Dispatch(const std::string& node, const v1::Task& task);
  void Cancel(const std::string& node, const std::string& task_id);
  // The server goes away: asks every node to come back within `spread_ms`.
  void Drain(std::int64_t spread_ms);
  // Stores when nodes were last seen; to be called every half minute or so.
  WriteSet SeenSet();

  FleetCounters counters();

 private:
  struct Node {
    Node(std::string node_name, ByteBudget node_budget) : name(std::move(node_name)), budget(node_budget) {}
    const std::string name;
    absl::Mutex mutex;
    SessionId session ABSL_GUARDED_BY(mutex) = 0;
    std::shared_ptr<AgentLink> link ABSL_GUARDED_BY(mutex);
    v1::Hello hello ABSL_GUARDED_BY(mutex);
    std::int64_t last_seen_unix_ms ABSL_GUARDED_BY(mutex) = 0;
    std::int64_t clock_offset_ms ABSL_GUARDED_BY(mutex) = 0;
    bool clock_known ABSL_GUARDED_BY(mutex) = false;
    bool seen_changed ABSL_GUARDED_BY(mutex) = false;
    v1::SpoolState spool ABSL_GUARDED_BY(mutex);
    bool spool_known ABSL_GUARDED_BY(mutex) = false;                           // by a heartbeat of this session
    std::map<std::uint64_t, v1::Watermark> watermarks ABSL_GUARDED_BY(mutex);  // of each epoch; durable
    std::int64_t lost_records ABSL_GUARDED_BY(mutex) = 0;
    bool committing ABSL_GUARDED_BY(mutex) = false;
    bool welcome_owed ABSL_GUARDED_BY(mutex) = false;   // a session that waits for the commit of the one before
    std::uint64_t question ABSL_GUARDED_BY(mutex) = 0;  // that is being answered; 0: none
    bool resend_asked ABSL_GUARDED_BY(mutex) = false;   // batches are dropped until the wanted number comes
    std::deque<v1::Batch> waiting ABSL_GUARDED_BY(mutex);
    std::int64_t waiting_bytes ABSL_GUARDED_BY(mutex) = 0;
    ByteBudget budget ABSL_GUARDED_BY(mutex);
    std::string address ABSL_GUARDED_BY(mutex);
    std::string origin ABSL_GUARDED_BY(mutex);         // of the session: two agents differ in it
    std::string origin_before ABSL_GUARDED_BY(mutex);  // of the session before
    std::int64_t contests ABSL_GUARDED_BY(mutex) = 0;
    std::int64_t contested_unix_ms ABSL_GUARDED_BY(mutex) = 0;
    std::string other_address ABSL_GUARDED_BY(mutex);
    std::string problem ABSL_GUARDED_BY(mutex);
    std::int64_t problem_unix_ms ABSL_GUARDED_BY(mutex) = 0;
    v1::TaskProgress task ABSL_GUARDED_BY(mutex);
  };

  std::shared_ptr<Node> NewNode(const std::string& name) const;
  std::shared_ptr<Node> FindNode(const std::string& name);
  std::shared_ptr<Node> NodeOf(SessionId session);
  bool Take(Node& node, SessionId session, const v1::Hello& hello, std::shared_ptr<AgentLink> link,
            const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void NoteOrigin(Node& node, const v1::Hello& hello, const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void HangUp(Node& node, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void Welcome(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void SendTasks(const std::shared_ptr<Node>& node, SessionId session);
  void Commit(const std::shared_ptr<Node>& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node->mutex);
  void CommitWaiting(const std::shared_ptr<Node>& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node->mutex);
  void Committed(const std::shared_ptr<Node>& node, std::uint64_t epoch, v1::Watermark watermark,
                 std::vector<v1::TaskEnd> ended, std::vector<v1::StepChunk> steps, absl::Status status);
  void ReceiveBatch(const std::shared_ptr<Node>& node, const v1::Batch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(node->mutex);
  bool TakeQuestion(Node& node, const v1::ContentQuestion& question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void AnswerQuestion(const std::shared_ptr<Node>& node, SessionId session, const v1::ContentQuestion& question);
  void Answer(Node& node, SessionId session, const v1::ContentQuestion& question, const std::string& held);
  void DropLeases(const std::string& node, const std::string& task);
  void NoteClock(Node& node, std::int64_t wall_unix_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void AskAgain(Node& node, std::uint64_t epoch, std::uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  void FillSeen(const std::string& key, v1::NodeRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskToWait(Node& node, std::uint64_t epoch, std::uint64_t sequence, std::int64_t wait_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mutex);
  absl::Status ReadJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const std::string& key, const v1::NodeRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FleetStore& store_;
  const WallClock clock_;
  const FleetOptions options_;
  const FleetPorts ports_;

  // Order of locks: that of Audits, this, a node's, the counters'. What is called through ports_ with a node's mutex
  // held (submit, retry_after_ms) locks nothing of these.
  absl::Mutex mutex_;
  std::map<std::string, v1::NodeRecord> holders_ ABSL_GUARDED_BY(mutex_);  // ROLE/NAME
  std::map<std::string, std::shared_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
  std::map<SessionId, std::shared_ptr<Node>> sessions_ ABSL_GUARDED_BY(mutex_);
  SessionId next_session_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::Mutex counters_mutex_;
  FleetCounters counters_ ABSL_GUARDED_BY(counters_mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_FLEET_H_
