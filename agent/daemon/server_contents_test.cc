#include "agent/daemon/server_contents.h"

#include <thread>

#include "common/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class ServerContentsTest : public testing::Test {
 protected:
  ServerContents Make(absl::Duration patience = absl::Seconds(20)) {
    return ServerContents(
        {.ask = [this](v1::ContentQuestion question) { OnAsk(std::move(question)); }, .patience = patience});
  }
  void OnAsk(v1::ContentQuestion question) {
    absl::MutexLock lock(&mutex_);
    asked_.push_back(std::move(question));
  }
  v1::ContentQuestion WaitForQuestion(std::size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] {
      mutex_.AssertReaderHeld();
      return asked_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(10)));
    return asked_.size() >= count ? asked_[count - 1] : v1::ContentQuestion();
  }
  static v1::ContentAnswer Answer(std::uint64_t id, std::string held) {
    v1::ContentAnswer answer;
    answer.set_id(id);
    answer.set_held(std::move(held));
    return answer;
  }
  const std::vector<std::string> digests_ = {Sha256("a"), Sha256("b"), Sha256("c")};
  Cancellation cancellation_;
  absl::Mutex mutex_;
  std::vector<v1::ContentQuestion> asked_;
};

TEST_F(ServerContentsTest, AsksInPartsAndGivesABitEach) {
  ServerContents contents = Make();
  contents.OnConnected(2);
  EXPECT_TRUE(contents.Answers(cancellation_));
  std::vector<bool> held;
  std::thread asker([&] { held = contents.Held("t", digests_, 3, cancellation_); });
  const v1::ContentQuestion first = WaitForQuestion(1);
  EXPECT_EQ(first.digests(), digests_[0] + digests_[1]);
  EXPECT_EQ(first.level(), 3);
  EXPECT_EQ(first.task_id(), "t");
  contents.OnAnswer(Answer(first.id() + 7, "\x03"));  // of nobody's question
  contents.OnAnswer(Answer(first.id(), "\x02"));
  const v1::ContentQuestion second = WaitForQuestion(2);
  EXPECT_EQ(second.digests(), digests_[2]);
  contents.OnAnswer(Answer(second.id(), "\x01"));
  asker.join();
  EXPECT_THAT(held, ElementsAre(false, true, true));
}

TEST_F(ServerContentsTest, AsksAgainAfterANewConnection) {
  ServerContents contents = Make();
  contents.OnConnected(100);
  std::vector<bool> held;
  std::thread asker([&] { held = contents.Held("t", digests_, 0, cancellation_); });
  const v1::ContentQuestion first = WaitForQuestion(1);
  contents.OnDisconnected();
  contents.OnConnected(100);
  const v1::ContentQuestion again = WaitForQuestion(2);
  EXPECT_EQ(again.id(), first.id());
  contents.OnAnswer(Answer(first.id(), "\x07"));
  asker.join();
  EXPECT_THAT(held, ElementsAre(true, true, true));
}

TEST_F(ServerContentsTest, WithoutAnAnswerNothingIsHeld) {
  ServerContents contents = Make(absl::Milliseconds(300));
  EXPECT_FALSE(contents.Answers(cancellation_)) << "nobody there";
  contents.OnConnected(0);
  EXPECT_FALSE(contents.Answers(cancellation_)) << "an older server";
  EXPECT_THAT(contents.Held("t", digests_, 0, cancellation_), ElementsAre(false, false, false));
  EXPECT_THAT(asked_, SizeIs(0));
  contents.OnConnected(100);
  EXPECT_THAT(contents.Held("t", digests_, 0, cancellation_), ElementsAre(false, false, false));
  cancellation_.Stop(StopReason::kShutdown);
  ServerContents patient = Make(absl::Hours(1));
  EXPECT_FALSE(patient.Answers(cancellation_));
}

}  // namespace
}  // namespace paritect
