#include "server/fleet.h"

#include <gtest/gtest.h>

#include "common/digest.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

constexpr std::uint64_t kEpoch = 77;

class FakeLink : public AgentLink {
 public:
  void Send(const v1::ServerMessage& message) override { sent.push_back(message); }
  void Close(absl::Status why) override { closed = std::move(why); }

  std::vector<v1::ServerMessage> sent;
  std::optional<absl::Status> closed;
};

v1::NodeRecord Agent(const std::string& name, const std::string& serial = "01") {
  v1::NodeRecord record;
  record.set_role(v1::ACCESS_ROLE_AGENT);
  record.set_name(name);
  record.set_serial(serial);
  record.set_certificate_expires_unix(2'000'000);
  return record;
}

// A fleet over a store in memory; commits wait in `pending` until Flush.
class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    FleetPorts ports;
    ports.submit = [this](WriteSet set, std::function<void(absl::Status)> done) -> absl::Status {
      if (full_) return absl::ResourceExhaustedError("no room");
      pending_.emplace_back(std::move(set), std::move(done));
      return absl::OkStatus();
    };
    ports.retry_after_ms = [] { return 100; };
    ports.defer = [](std::function<void()> work) { work(); };
    ports.tasks_for = [this](const std::string&, const std::set<std::string>& done) {
      std::vector<v1::Task> tasks;
      for (const v1::Task& task : tasks_) {
        if (done.count(task.id()) == 0) tasks.push_back(task);
      }
      return tasks;
    };
    ports.progress = [](const std::string&, const v1::TaskProgress&) {};
    ports.task_end = [this](const std::string& node, std::uint64_t, const v1::TaskEnd& end) {
      ended_.push_back(node + " " + end.task_id());
    };
    fleet_ = std::make_unique<Fleet>(
        *store_, [this] { return now_ms_; }, FleetOptions{}, std::move(ports));
    ASSERT_TRUE(fleet_->Load().ok());
    Enrol("gpu-01");
  }

  void Enrol(const std::string& name) {
    auto set = fleet_->PrepareEnrolment(Agent(name), false);
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_TRUE(CommitOne(*store_, *set).ok());
    fleet_->Enrolled(*set);
  }

  // Ends every commit that waits; `status`: as the disk says.
  void Flush(absl::Status status = absl::OkStatus()) {
    std::vector<std::pair<WriteSet, std::function<void(absl::Status)>>> now;
    now.swap(pending_);
    for (auto& [set, done] : now) {
      if (status.ok()) {
        EXPECT_TRUE(CommitOne(*store_, set).ok());
      }
      done(status);
    }
  }

  Fleet::SessionId Connect(std::shared_ptr<FakeLink> link) {
    v1::Hello hello;
    hello.set_protocol(1);
    hello.set_epoch(kEpoch);
    hello.set_wall_unix_ms(now_ms_ + 1234);
    auto session = fleet_->Open("gpu-01", hello, std::move(link));
    EXPECT_TRUE(session.ok()) << session.status();
    return *session;
  }

  static v1::AgentMessage Events(std::uint64_t first, std::uint64_t last) {
    v1::AgentMessage message;
    message.mutable_batch()->set_epoch(kEpoch);
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) {
      v1::Record record;
      record.mutable_event()->set_kind("started");
      v1::Envelope& envelope = *message.mutable_batch()->add_envelopes();
      envelope.set_sequence(sequence);
      envelope.set_record(record.SerializeAsString());
    }
    return message;
  }

  std::vector<std::uint64_t> StoredSequences() {
    std::vector<std::uint64_t> out;
    EXPECT_TRUE(store_
                    ->ScanBatches("gpu-01",
                                  [&](const BatchWrite& batch) {
                                    for (std::uint64_t s = batch.first_sequence; s <= batch.last_sequence; ++s)
                                      out.push_back(s);
                                    return true;
                                  })
                    .ok());
    return out;
  }

  std::int64_t now_ms_ = 1'000'000'000;
  bool full_ = false;
  std::vector<v1::Task> tasks_;
  std::vector<std::string> ended_;
  std::unique_ptr<FleetStore> store_;
  std::vector<std::pair<WriteSet, std::function<void(absl::Status)>>> pending_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(FleetTest, AHelloThatIsTooLargeIsRefusedAndOthersGoOn) {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.set_epoch(kEpoch);
  hello.set_program(std::string(FleetOptions{}.hello_bytes_max, 'x'));
  const auto refused = fleet_->Open("gpu-01", hello, std::make_shared<FakeLink>());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
  Connect(std::make_shared<FakeLink>());
}

// It is stored, listed and logged for years.
TEST_F(FleetTest, OfWhatAnAgentCallsItselfALineIsKept) {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.set_epoch(kEpoch);
  hello.set_program(absl::StrCat("\x1b[2J", std::string(10'000, 'x')));
  ASSERT_TRUE(fleet_->Open("gpu-01", hello, std::make_shared<FakeLink>()).ok());
  const WriteSet seen = fleet_->SeenSet();
  ASSERT_EQ(seen.documents.size(), 1u);
  v1::NodeRecord record;
  ASSERT_TRUE(record.ParseFromString(*seen.documents[0].value));
  EXPECT_EQ(record.hello().program().substr(0, 9), "\\x1B[2Jxx");
  EXPECT_LT(record.hello().program().size(), 2 * kProgramBytesMax);
}

TEST_F(FleetTest, WelcomesThenSendsWhatIsOwed) {
  tasks_.emplace_back().set_id("t1");
  const auto link = std::make_shared<FakeLink>();
  Connect(link);
  ASSERT_EQ(link->sent.size(), 2u);
  EXPECT_EQ(link->sent[0].welcome().node(), "gpu-01");
  EXPECT_EQ(link->sent[1].task().id(), "t1");
  const std::vector<KnownNode> agents = fleet_->Agents();
  ASSERT_EQ(agents.size(), 1u);
  EXPECT_TRUE(agents[0].online);
  EXPECT_EQ(agents[0].clock_offset_ms, 1234);
}

TEST_F(FleetTest, AcknowledgesOnlyWhatIsDurable) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  fleet_->Receive(session, Events(1, 3));
  EXPECT_EQ(link->sent.size(), 1u);  // the welcome
  Flush();
  ASSERT_EQ(link->sent.size(), 2u);
  EXPECT_EQ(link->sent[1].ack().durable_sequence(), 3u);
}

TEST_F(FleetTest, WhatComesDuringACommitGoesTogetherAfterIt) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  fleet_->Receive(session, Events(1, 1));
  fleet_->Receive(session, Events(2, 2));
  fleet_->Receive(session, Events(3, 3));
  EXPECT_EQ(pending_.size(), 1u);
  Flush();
  EXPECT_EQ(pending_.size(), 1u);
  Flush();
  EXPECT_EQ(link->sent.back().ack().durable_sequence(), 3u);
  EXPECT_EQ(StoredSequences(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(FleetTest, AFailedCommitLosesNothingAndDoublesNothing) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  fleet_->Receive(session, Events(1, 2));
  fleet_->Receive(session, Events(3, 4));
  Flush(absl::ResourceExhaustedError("disk full"));
  EXPECT_TRUE(pending_.empty());
  EXPECT_TRUE(link->sent[1].has_throttle());
  EXPECT_EQ(link->sent[2].resend().sequence(), 1u);
  // A batch that was on its way already is no use; it must not be taken without those before it.
  fleet_->Receive(session, Events(5, 6));
  EXPECT_TRUE(pending_.empty());
  fleet_->Receive(session, Events(1, 6));
  Flush();
  EXPECT_EQ(link->sent.back().ack().durable_sequence(), 6u);
  EXPECT_EQ(StoredSequences(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(FleetTest, NoRoomMeansWaitAndSendAgain) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  full_ = true;
  fleet_->Receive(session, Events(1, 2));
  ASSERT_EQ(link->sent.size(), 3u);
  EXPECT_EQ(link->sent[1].resend().sequence(), 1u);
  EXPECT_EQ(link->sent[2].throttle().retry_after_ms(), 100);
}

TEST_F(FleetTest, ASecondSessionWaitsForTheFirstOnesCommit) {
  const auto first = std::make_shared<FakeLink>();
  const auto session = Connect(first);
  fleet_->Receive(session, Events(1, 2));
  const auto second = std::make_shared<FakeLink>();
  const auto session2 = Connect(second);
  ASSERT_TRUE(first->closed.has_value());
  EXPECT_TRUE(second->sent.empty());
  Flush();
  ASSERT_EQ(second->sent.size(), 1u);
  EXPECT_EQ(second->sent[0].welcome().durable_sequence(), 2u);
  fleet_->Closed(session);  // late news of the old one changes nothing
  fleet_->Receive(session2, Events(1, 3));
  Flush();
  EXPECT_EQ(StoredSequences(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(FleetTest, AHoleIsAskedForAgain) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  fleet_->Receive(session, Events(3, 4));
  EXPECT_EQ(link->sent.at(1).resend().sequence(), 1u);
  Flush();
  EXPECT_TRUE(StoredSequences().empty());
}

TEST_F(FleetTest, ManySmallBatchesNeedNoStack) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  fleet_->Receive(session, Events(1, 1));
  for (int i = 0; i < 200'000; ++i) fleet_->Receive(session, Events(1, 1));
  Flush();
  EXPECT_EQ(link->sent.back().ack().durable_sequence(), 1u);
}

TEST_F(FleetTest, RevocationEndsTheSessionAndStays) {
  const auto link = std::make_shared<FakeLink>();
  Connect(link);
  auto set = fleet_->PrepareRevocation("gpu-01", "admin/a", false);
  ASSERT_TRUE(set.ok());
  ASSERT_TRUE(CommitOne(*store_, *set).ok());
  fleet_->Revoked(*set, "gpu-01");
  ASSERT_TRUE(link->closed.has_value());
  EXPECT_TRUE(absl::IsPermissionDenied(fleet_->Accepts(Agent("gpu-01"))));
  // After a restart, too.
  Fleet again(
      *store_, [this] { return now_ms_; }, FleetOptions{}, FleetPorts{});
  ASSERT_TRUE(again.Load().ok());
  EXPECT_TRUE(absl::IsPermissionDenied(again.Accepts(Agent("gpu-01"))));
  EXPECT_TRUE(absl::IsNotFound(fleet_->PrepareRevocation("nobody", "admin/a", false).status()));
}

TEST_F(FleetTest, AForgottenNodeIsInNoListAndStaysRefused) {
  Connect(std::make_shared<FakeLink>());
  auto revoked = fleet_->PrepareRevocation("gpu-01", "admin/a", false);
  ASSERT_TRUE(CommitOne(*store_, *revoked).ok());
  fleet_->Revoked(*revoked, "gpu-01");
  ASSERT_EQ(fleet_->Agents().size(), 1u);
  EXPECT_TRUE(fleet_->Agents()[0].revoked);
  auto forgotten = fleet_->PrepareRevocation("gpu-01", "admin/b", true);  // it was revoked before
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  ASSERT_TRUE(CommitOne(*store_, *forgotten).ok());
  fleet_->Revoked(*forgotten, "gpu-01");
  Fleet again(
      *store_, [this] { return now_ms_; }, FleetOptions{}, FleetPorts{});
  ASSERT_TRUE(again.Load().ok());
  for (Fleet* fleet : {fleet_.get(), &again}) {
    EXPECT_TRUE(fleet->Agents().empty());
    EXPECT_TRUE(fleet->Holders().empty());
    EXPECT_TRUE(absl::IsPermissionDenied(fleet->Accepts(Agent("gpu-01"))));
    EXPECT_TRUE(absl::IsNotFound(fleet->PrepareRevocation("gpu-01", "admin/a", true).status()));
  }
  // A token for its name brings it back into the lists.
  auto set = fleet_->PrepareEnrolment(Agent("gpu-01", "02"), true);
  ASSERT_TRUE(set.ok());
  fleet_->Enrolled(*set);
  EXPECT_EQ(fleet_->Agents().size(), 1u);
}

TEST_F(FleetTest, EnrolledAgainAfterRevocationOldCertificatesStayRefused) {
  auto revoked = fleet_->PrepareRevocation("gpu-01", "admin/a", false);
  ASSERT_TRUE(CommitOne(*store_, *revoked).ok());
  fleet_->Revoked(*revoked, "gpu-01");
  EXPECT_TRUE(absl::IsPermissionDenied(fleet_->PrepareEnrolment(Agent("gpu-01", "02"), false).status()));
  auto set = fleet_->PrepareEnrolment(Agent("gpu-01", "02"), true);
  ASSERT_TRUE(set.ok());
  fleet_->Enrolled(*set);
  EXPECT_TRUE(fleet_->Accepts(Agent("gpu-01", "02")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(fleet_->Accepts(Agent("gpu-01", "01"))));
}

TEST_F(FleetTest, ATakenNameIsRefusedWhileItsCertificateIsGood) {
  now_ms_ = 1'000'000;
  EXPECT_TRUE(absl::IsAlreadyExists(fleet_->PrepareEnrolment(Agent("gpu-01", "02"), false).status()));
  now_ms_ = 3'000'000'000;
  EXPECT_TRUE(fleet_->PrepareEnrolment(Agent("gpu-01", "02"), false).ok());
}

TEST_F(FleetTest, WrongMessagesEndTheSession) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = Connect(link);
  v1::AgentMessage other_epoch = Events(1, 1);
  other_epoch.mutable_batch()->set_epoch(kEpoch + 1);
  fleet_->Receive(session, other_epoch);
  EXPECT_TRUE(absl::IsInvalidArgument(*link->closed));
  v1::Hello hello;
  hello.set_protocol(9);
  hello.set_epoch(kEpoch);
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_->Open("gpu-01", hello, link).status()));
  hello.set_protocol(1);
  EXPECT_TRUE(absl::IsPermissionDenied(fleet_->Open("gpu-99", hello, link).status()));
}

class QuestionTest : public FleetTest {
 protected:
  // A tree of two leaves in the store.
  void Store() {
    WriteSet set;
    const std::string node = Sha256("a") + Sha256("b");
    set.contents = {{Sha256("a"), "a"}, {Sha256("b"), "b"}, {Sha256(node), node, 1}};
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    root_ = Sha256(node);
  }
  static v1::AgentMessage Ask(std::uint64_t id, int level, const std::string& digests) {
    v1::AgentMessage message;
    message.mutable_question()->set_id(id);
    message.mutable_question()->set_task_id("t1");
    message.mutable_question()->set_level(level);
    message.mutable_question()->set_digests(digests);
    return message;
  }
  std::size_t Leases() {
    std::size_t count = 0;
    EXPECT_TRUE(store_
                    ->Scan("lease", "", "",
                           [&](absl::string_view, absl::string_view) {
                             ++count;
                             return true;
                           })
                    .ok());
    return count;
  }
  std::string root_;
  const std::shared_ptr<FakeLink> link_ = std::make_shared<FakeLink>();
};

TEST_F(QuestionTest, TellsWhatIsHeldAndKeepsItForTheTask) {
  Store();
  const auto session = Connect(link_);
  EXPECT_GT(link_->sent[0].welcome().question_digests_max(), 0);
  fleet_->Receive(session, Ask(1, 1, Sha256("x") + root_));
  EXPECT_EQ(link_->sent.size(), 1u) << "not before it is kept";
  Flush();
  ASSERT_TRUE(link_->sent.back().has_answer());
  EXPECT_EQ(link_->sent.back().answer().held(), std::string(1, 2));
  EXPECT_EQ(Leases(), 1u);
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_TRUE(*store_->HasNode(root_, 1)) << "the agent relies on it";
  // A leaf is no node, whatever its digest; what is not held needs no lease.
  fleet_->Receive(session, Ask(2, 1, Sha256("a")));
  EXPECT_EQ(link_->sent.back().answer().id(), 2u);
  EXPECT_EQ(link_->sent.back().answer().held(), std::string(1, 0));
  // The end of the task ends the lease.
  v1::Record record;
  record.mutable_task_end()->set_task_id("t1");
  v1::AgentMessage end;
  end.mutable_batch()->set_epoch(kEpoch);
  v1::Envelope& envelope = *end.mutable_batch()->add_envelopes();
  envelope.set_sequence(1);
  envelope.set_record(record.SerializeAsString());
  fleet_->Receive(session, end);
  Flush();
  Flush();
  EXPECT_EQ(Leases(), 0u);
}

TEST_F(QuestionTest, WhatCannotBeKeptIsNotTold) {
  Store();
  const auto session = Connect(link_);
  full_ = true;
  fleet_->Receive(session, Ask(1, 1, root_));
  EXPECT_EQ(link_->sent.back().answer().held(), std::string(1, 0));
  full_ = false;
  fleet_->Receive(session, Ask(2, 1, root_));
  Flush(absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(link_->sent.back().answer().held(), std::string(1, 0));
  // Dropped before the lease counted.
  fleet_->Receive(session, Ask(3, 1, root_));
  ASSERT_TRUE(store_->Compact().ok());
  Flush();
  EXPECT_EQ(link_->sent.back().answer().held(), std::string(1, 0));
}

TEST_F(QuestionTest, HostileQuestionsEndTheSession) {
  Store();
  for (const v1::AgentMessage& bad :
       {Ask(1, 1, "half a digest"), Ask(0, 1, root_), Ask(1, 1, std::string(32 * 5000, 'x'))}) {
    const auto link = std::make_shared<FakeLink>();
    fleet_->Receive(Connect(link), bad);
    EXPECT_TRUE(link->closed.has_value());
  }
  const auto session = Connect(link_);
  fleet_->Receive(session, Ask(1, 1, root_));
  fleet_->Receive(session, Ask(2, 1, root_));
  EXPECT_EQ(link_->closed->code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paritect
