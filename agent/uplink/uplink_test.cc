#include "agent/uplink/uplink.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "agent/spool/fault_disk.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

// A server as the test plays it: streams are opened towards it, it says what the test says.
class FakeTransport : public UplinkTransport {
 public:
  struct Stream {
    std::string server;
    StreamEvents* events = nullptr;
    std::vector<v1::AgentMessage> written;
    bool writes_closed = false;
    bool gone = false;
  };

  std::unique_ptr<UplinkStream> Open(const std::string& server, StreamEvents& events) override {
    streams.push_back(std::make_unique<Stream>());
    streams.back()->server = server;
    streams.back()->events = &events;
    return std::make_unique<End>(*this, *streams.back());
  }

  std::vector<std::unique_ptr<Stream>> streams;
  bool takes_writes = true;  // false: as a connection that is stuck

 private:
  class End : public UplinkStream {
   public:
    End(FakeTransport& owner, Stream& stream) : owner_(owner), stream_(stream) {}
    ~End() override { stream_.gone = true; }
    void Write(v1::AgentMessage message) override {
      stream_.written.push_back(std::move(message));
      if (owner_.takes_writes) stream_.events->OnWritten();
    }
    void CloseWrites() override { stream_.writes_closed = true; }

   private:
    FakeTransport& owner_;
    Stream& stream_;
  };
};

class UplinkTest : public testing::Test {
 protected:
  UplinkTest() : disk_(1) {
    spool_ = *Spool::Open(
        "spool", {.max_bytes = 1 << 20}, [this] { return now_; }, disk_);
  }

  void Make(UplinkOptions options = {}) {
    if (options.servers.empty()) options.servers = {"a:1"};
    UplinkPorts ports;
    ports.steady_ms = [this] { return now_; };
    ports.wall_ms = [this] { return 1'000'000 + now_; };
    ports.random = [this] { return random_; };
    ports.wake = [this] { ++wakes_; };
    ports.hello = [] {
      v1::Hello hello;
      hello.set_program("test");
      return hello;
    };
    ports.on_task = [this](const v1::Task& task) { tasks_.push_back(task.id()); };
    ports.on_cancel = [this](const std::string& id) { cancelled_.push_back(id); };
    ports.on_acknowledged = [this](std::uint64_t durable) { acknowledged_.push_back(durable); };
    ports.on_connected = [](const std::string&, const v1::Welcome&) {};
    ports.on_disconnected = [this](const std::string& server, const absl::Status& status, std::int64_t retry_ms) {
      disconnects_.push_back(absl::StrCat(server, " ", absl::StatusCodeToString(status.code()), " ", retry_ms));
    };
    uplink_ = std::make_unique<Uplink>(std::move(options), *spool_, transport_, std::move(ports));
  }

  void Append(int count, std::size_t bytes = 10, RecordClass record_class = RecordClass::kCritical) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(spool_->Append(record_class, {{NewRecord{std::string(bytes, 'r'), now_}}}).ok());
    }
  }

  // Until nothing more happens at this moment.
  void Settle() {
    int before = -1;
    while (before != wakes_) {
      before = wakes_;
      uplink_->Step();
    }
  }
  void After(std::int64_t ms) {
    now_ += ms;
    Settle();
  }

  FakeTransport::Stream& line() { return *transport_.streams.back(); }
  void Say(v1::ServerMessage message) {
    line().events->OnMessage(std::move(message));
    Settle();
  }
  void Welcome(std::uint64_t durable, std::int64_t window_bytes = 0, std::int64_t window_records = 0) {
    v1::ServerMessage message;
    message.mutable_welcome()->set_durable_sequence(durable);
    message.mutable_welcome()->set_window_bytes(window_bytes);
    message.mutable_welcome()->set_window_records(window_records);
    Say(message);
  }
  void Ack(std::uint64_t durable) {
    v1::ServerMessage message;
    message.mutable_ack()->set_epoch(spool_->epoch());
    message.mutable_ack()->set_durable_sequence(durable);
    Say(message);
  }
  void Connect(std::uint64_t durable = 0, std::int64_t window_bytes = 0, std::int64_t window_records = 0) {
    Settle();
    Welcome(durable, window_bytes, window_records);
  }
  void Break(absl::Status status) {
    line().events->OnClosed(std::move(status));
    Settle();
  }

  // "1 2 3-5:dropped_full" of the last stream's batches.
  std::string Sent() {
    std::string out;
    for (const v1::AgentMessage& message : line().written) {
      for (const v1::Envelope& envelope : message.batch().envelopes()) {
        absl::StrAppend(&out, out.empty() ? "" : " ", envelope.sequence());
        if (envelope.last_sequence() != 0) {
          absl::StrAppend(&out, "-", envelope.last_sequence(), ":", envelope.gap_reason());
        }
      }
    }
    return out;
  }
  int Count(v1::AgentMessage::KindCase kind) {
    int count = 0;
    for (const v1::AgentMessage& message : line().written) count += message.kind_case() == kind;
    return count;
  }

  FaultDisk disk_;
  std::int64_t now_ = 0;
  double random_ = 0.5;
  int wakes_ = 0;
  std::unique_ptr<Spool> spool_;
  FakeTransport transport_;
  std::vector<std::string> tasks_, cancelled_, disconnects_;
  std::vector<std::uint64_t> acknowledged_;
  std::unique_ptr<Uplink> uplink_;
};

TEST_F(UplinkTest, SaysHelloFirstAndSendsNothingBeforeTheWelcome) {
  Append(3);
  Make();
  Settle();
  ASSERT_EQ(line().written.size(), 1u);
  const v1::Hello& hello = line().written[0].hello();
  EXPECT_EQ(hello.protocol(), 1);
  EXPECT_EQ(hello.epoch(), spool_->epoch());
  EXPECT_EQ(hello.first_available(), 1u);
  EXPECT_EQ(hello.next_sequence(), 4u);
  EXPECT_EQ(hello.wall_unix_ms(), 1'000'000);
  Welcome(0);
  EXPECT_EQ(Sent(), "1 2 3");
  Ack(3);
  EXPECT_THAT(acknowledged_, ElementsAre(3));
  EXPECT_EQ(spool_->Stats().low_water, 3u);
}

TEST_F(UplinkTest, SendsFromBehindWhatTheServerHolds) {
  Append(5);
  Make();
  Connect(3);
  EXPECT_EQ(Sent(), "4 5");
  EXPECT_EQ(spool_->Stats().low_water, 3u);
}

TEST_F(UplinkTest, KeepsTheWindowInRecords) {
  Append(10);
  Make();
  Connect(0, 0, 4);
  EXPECT_EQ(Sent(), "1 2 3 4");
  Ack(2);
  EXPECT_EQ(Sent(), "1 2 3 4") << "a batch is acknowledged as a whole";
  Ack(4);
  EXPECT_EQ(Sent(), "1 2 3 4 5 6 7 8");
}

TEST_F(UplinkTest, KeepsTheWindowInBytesButSendsALargeRecordAlone) {
  Append(2, 100);
  Append(1, 5000);
  Append(1, 100);
  Make();
  Connect(0, 300);
  EXPECT_EQ(Sent(), "1 2");
  Ack(2);
  EXPECT_EQ(Sent(), "1 2 3");
  Ack(3);
  EXPECT_EQ(Sent(), "1 2 3 4");
}

TEST_F(UplinkTest, BeginsAgainAfterABreakAndAfterResend) {
  Append(4);
  Make();
  Connect();
  EXPECT_EQ(Sent(), "1 2 3 4");
  v1::ServerMessage resend;
  resend.mutable_resend()->set_epoch(spool_->epoch());
  resend.mutable_resend()->set_sequence(3);
  Say(resend);
  EXPECT_EQ(Sent(), "1 2 3 4 3 4");
  Break(absl::UnavailableError("gone"));
  After(1000);
  ASSERT_EQ(transport_.streams.size(), 2u);
  Welcome(1);
  EXPECT_EQ(Sent(), "2 3 4");
}

TEST_F(UplinkTest, IgnoresAcknowledgementsOfAnotherEpochAndOfWhatIsNotThere) {
  Append(2);
  Make();
  Connect();
  v1::ServerMessage message;
  message.mutable_ack()->set_epoch(spool_->epoch() + 1);
  message.mutable_ack()->set_durable_sequence(2);
  Say(message);
  Ack(7);
  EXPECT_TRUE(acknowledged_.empty());
  EXPECT_EQ(spool_->Stats().low_water, 0u);
}

TEST_F(UplinkTest, StopsWhereTheServerHoldsMoreThanTheSpoolEverHad) {
  Append(2);
  Make();
  Connect(5);
  EXPECT_TRUE(uplink_->spool_is_behind());
  After(100'000);
  EXPECT_EQ(transport_.streams.size(), 1u);
  EXPECT_EQ(Sent(), "");
}

TEST_F(UplinkTest, TellsAServerThatForgotWhatItHadAcknowledged) {
  Append(4);
  Make();
  Connect(3);
  Break(absl::UnavailableError("restored from a copy"));
  After(1000);
  Welcome(1);
  EXPECT_EQ(Sent(), "2-3:acknowledged_before 4");
}

TEST_F(UplinkTest, SendsGapsInTheirPlace) {
  // A bulk segment is an eighth of 1 MiB; the oldest go.
  for (int i = 0; i < 300; ++i) Append(1, 5000, RecordClass::kBulk);
  Make();
  Connect(0, 1 << 20);
  EXPECT_THAT(Sent(), testing::MatchesRegex("1-[0-9]+:dropped_full [0-9 ]+"));
}

TEST_F(UplinkTest, FullJitterGrowsToItsCapAndAHealthySessionResetsIt) {
  Make({.servers = {"a:1"}, .backoff_base_ms = 1000, .backoff_cap_ms = 8000});
  random_ = 0.999;
  Settle();
  for (int i = 0; i < 5; ++i) {
    Break(absl::UnavailableError(""));
    After(8000);
  }
  EXPECT_THAT(disconnects_, ElementsAre("a:1 UNAVAILABLE 999", "a:1 UNAVAILABLE 1998", "a:1 UNAVAILABLE 3996",
                                        "a:1 UNAVAILABLE 7992", "a:1 UNAVAILABLE 7992"));
  Welcome(0);
  After(5'000);
  Break(absl::UnavailableError(""));
  EXPECT_EQ(disconnects_.back(), "a:1 UNAVAILABLE 7992") << "five seconds without a delivery prove nothing";
  After(8000);
  Welcome(0);
  After(10'000);
  Break(absl::UnavailableError(""));
  EXPECT_EQ(disconnects_.back(), "a:1 UNAVAILABLE 999");
}

TEST_F(UplinkTest, ComesBackFastFromARestartAndSlowlyFromALongAbsence) {
  Make();
  random_ = 0.999;
  Settle();
  Welcome(0);
  After(10'000);
  for (int i = 0; i < 8; ++i) {
    Break(absl::UnavailableError("connection refused"));
    After(5'000);
  }
  EXPECT_EQ(disconnects_.back(), "a:1 UNAVAILABLE 4995") << "a restart takes a minute";
  After(300'000);
  EXPECT_EQ(disconnects_.back(), "a:1 DEADLINE_EXCEEDED 29970");
}

TEST_F(UplinkTest, WaitsLongWhereItIsRefused) {
  Make();
  random_ = 0;
  Settle();
  Break(absl::PermissionDeniedError("revoked"));
  EXPECT_THAT(disconnects_, ElementsAre("a:1 PERMISSION_DENIED 30000"));
}

TEST_F(UplinkTest, TriesItsServersInTurn) {
  Make({.servers = {"a:1", "b:2"}});
  Settle();
  Break(absl::UnavailableError(""));
  After(1000);
  EXPECT_EQ(line().server, "b:2");
  Break(absl::UnavailableError(""));
  After(2000);
  EXPECT_EQ(line().server, "a:1");
}

TEST_F(UplinkTest, GivesUpOnAServerThatDoesNotGreet) {
  Make();
  Settle();
  After(20'000);
  EXPECT_TRUE(line().gone);
  EXPECT_THAT(disconnects_, ElementsAre("a:1 DEADLINE_EXCEEDED 500"));
}

TEST_F(UplinkTest, DrainsAndComesBackAfterARandomPartOfTheSpread) {
  Append(1);
  Make();
  Connect();
  random_ = 0.25;
  v1::ServerMessage drain;
  drain.mutable_drain()->set_spread_ms(40'000);
  Say(drain);
  EXPECT_TRUE(line().writes_closed);
  Ack(1);
  EXPECT_THAT(acknowledged_, ElementsAre(1)) << "what was on its way still counts";
  Break(absl::OkStatus());
  EXPECT_THAT(disconnects_, ElementsAre("a:1 OK 10000"));
  After(9'999);
  EXPECT_EQ(transport_.streams.size(), 1u);
  After(1);
  EXPECT_EQ(transport_.streams.size(), 2u);
}

// A server cannot send a node away for good.
TEST_F(UplinkTest, WhateverSpreadIsSaidItComesBackWithinTenMinutes) {
  Make();
  Connect();
  random_ = 0.5;
  v1::ServerMessage drain;
  drain.mutable_drain()->set_spread_ms(std::numeric_limits<std::int64_t>::max());
  Say(drain);
  Break(absl::OkStatus());
  EXPECT_THAT(disconnects_, ElementsAre("a:1 OK 300000"));
}

TEST_F(UplinkTest, ThrottledSendsHeartbeatsAlone) {
  Make();
  Connect();
  v1::ServerMessage throttle;
  throttle.mutable_throttle()->set_retry_after_ms(20'000);
  Say(throttle);
  Append(1);
  After(15'000);
  EXPECT_EQ(Sent(), "");
  EXPECT_EQ(Count(v1::AgentMessage::kHeartbeat), 2);
  After(5'000);
  EXPECT_EQ(Sent(), "1");
}

TEST_F(UplinkTest, ProgressIsTheNewestAndNotTooOften) {
  Make();
  Connect();
  for (int i = 1; i <= 10; ++i) {
    v1::TaskProgress progress;
    progress.set_task_id("t");
    progress.set_files_done(i);
    uplink_->SetProgress(progress);
    After(100);
  }
  std::vector<std::int64_t> seen;
  for (const v1::AgentMessage& message : line().written) {
    if (message.has_progress()) seen.push_back(message.progress().files_done());
  }
  EXPECT_THAT(seen, ElementsAre(5, 10));
}

TEST_F(UplinkTest, TheLastProgressGoesOutAtOnceAndThoughItIsForgotten) {
  Make();
  Connect();
  v1::TaskProgress progress;
  progress.set_task_id("t");
  for (const int files : {1, 2}) {
    progress.set_files_done(files);
    uplink_->SetProgress(progress, files == 2);
    if (files == 2) uplink_->ForgetProgress("t");
    After(files == 1 ? 1000 : 1);  // the first waits for its interval
  }
  std::vector<std::int64_t> seen;
  for (const v1::AgentMessage& message : line().written) {
    if (message.has_progress()) seen.push_back(message.progress().files_done());
  }
  EXPECT_THAT(seen, ElementsAre(1, 2));
  uplink_->SetProgress(progress);
  uplink_->ForgetProgress("t");
  After(1000);
  EXPECT_EQ(Count(v1::AgentMessage::kProgress), 2);
}

TEST_F(UplinkTest, TakesATaskThatOvertakesTheWelcome) {
  Make();
  Settle();
  v1::ServerMessage task;
  task.mutable_task()->set_id("t1");
  Say(task);
  EXPECT_THAT(tasks_, ElementsAre("t1"));
}

TEST_F(UplinkTest, HandsTasksOnAndClosesInOrder) {
  Make();
  Connect();
  v1::ServerMessage task, cancel;
  task.mutable_task()->set_id("t1");
  cancel.mutable_cancel()->set_task_id("t1");
  Say(task);
  Say(cancel);
  EXPECT_THAT(tasks_, ElementsAre("t1"));
  EXPECT_THAT(cancelled_, ElementsAre("t1"));
  uplink_->Stop();
  Settle();
  EXPECT_TRUE(line().writes_closed);
  EXPECT_FALSE(uplink_->stopped());
  After(2'000);  // the server does not answer
  EXPECT_TRUE(uplink_->stopped());
  EXPECT_TRUE(line().gone);
}

TEST_F(UplinkTest, ReconnectsAtOnceWithOtherServers) {
  Make();
  Connect();
  uplink_->Reconnect({"c:3"});
  Settle();
  Break(absl::OkStatus());
  ASSERT_EQ(transport_.streams.size(), 2u);
  EXPECT_EQ(line().server, "c:3");
}

TEST_F(UplinkTest, WaitsWhileALineIsStuck) {
  Append(3);
  Make({.servers = {"a:1"}, .batch_records_max = 1});
  Settle();
  transport_.takes_writes = false;
  Welcome(0);
  EXPECT_EQ(line().written.size(), 2u) << "hello and one heartbeat that is not through";
  After(100'000);
  EXPECT_EQ(line().written.size(), 2u);
}

TEST_F(UplinkTest, QuestionsGoOutBeforeRecordsAndEndWithTheSession) {
  Make();
  v1::ContentQuestion question;
  question.set_id(1);
  question.set_digests("d");
  Connect();
  Append(1);
  uplink_->Ask(question);
  Settle();
  ASSERT_GE(line().written.size(), 3u);
  EXPECT_TRUE(line().written[line().written.size() - 2].has_question());
  EXPECT_TRUE(line().written.back().has_batch());
  // One that was not written when the line broke is asked again by whoever waits, not by the uplink.
  transport_.takes_writes = false;
  uplink_->RecordsWait();
  After(60'000);
  uplink_->Ask(question);
  Break(absl::UnavailableError("gone"));
  transport_.takes_writes = true;
  After(120'000);
  ASSERT_EQ(transport_.streams.size(), 2u);
  Welcome(0);
  for (const v1::AgentMessage& message : line().written) EXPECT_FALSE(message.has_question());
}

}  // namespace
}  // namespace paritect
