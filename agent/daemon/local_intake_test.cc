#include "agent/daemon/local_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/local_socket.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LocalIntakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_), nullptr);
    socket_ = absl::StrCat(folder_, "/agent.sock");
  }
  void TearDown() override {
    unlink(socket_.c_str());
    rmdir(folder_);
  }

  std::unique_ptr<LocalIntake> Open(std::vector<std::int64_t> users = {}) {
    auto intake = LocalIntake::Open(socket_, std::move(users),
                                    {.take =
                                         [this](v1::Bundle bundle, Cancellation&) {
                                           taken_.push_back(bundle.plan().run());
                                           return answer_;
                                         }},
                                    log_);
    EXPECT_TRUE(intake.ok()) << intake.status();
    return intake.ok() ? *std::move(intake) : nullptr;
  }

  static std::string BundleOf(absl::string_view run) {
    v1::Bundle bundle;
    bundle.mutable_plan()->set_run(std::string(run));
    bundle.add_evidence()->set_kind(v1::EVIDENCE_KIND_SHARDS);
    return *SerializeBundle(bundle);
  }

  std::string Ask(absl::string_view bytes) {
    auto answer = AskLocal(socket_, bytes, absl::Seconds(10));
    return answer.ok() ? *answer : std::string(answer.status().message());
  }

  char folder_[32] = "/tmp/paritect-intake-XXXXXX";
  std::string socket_;
  std::ostringstream text_;
  AgentLog log_{text_, false};
  std::vector<std::string> taken_;
  absl::Status answer_;
};

TEST_F(LocalIntakeTest, ABundleIsTakenAndAnswered) {
  auto intake = Open();
  EXPECT_EQ(Ask(BundleOf("npu-1")), "ok npu-1\n");
  EXPECT_EQ(Ask(BundleOf("npu-2")), "ok npu-2\n");
  intake.reset();
  EXPECT_THAT(taken_, ::testing::ElementsAre("npu-1", "npu-2"));
  EXPECT_TRUE(absl::IsNotFound(AskLocal(socket_, "x", absl::Seconds(1)).status()));  // the socket is gone
}

TEST_F(LocalIntakeTest, WhatIsNoBundleIsRefusedWithTheReason) {
  auto intake = Open();
  EXPECT_THAT(Ask("no bundle"), StartsWith("refused: no bundle: "));
  EXPECT_THAT(Ask(""), StartsWith("refused: "));
  const std::string whole = BundleOf("npu-1");
  EXPECT_THAT(Ask(absl::string_view(whole).substr(0, whole.size() - 1)), StartsWith("refused: "));
  EXPECT_THAT(Ask(BundleOf("")), HasSubstr("no name"));
  answer_ = absl::UnavailableError("the spool is full");
  EXPECT_EQ(Ask(whole), "refused: the spool is full\n");
}

// As many as may send, less one, say nothing at all.
TEST_F(LocalIntakeTest, SilentSendersHoldUpNobody) {
  auto intake = Open();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof(address.sun_path) - 1);
  std::vector<int> silent;
  for (int i = 0; i < 3; ++i) {
    silent.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(silent.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_EQ(Ask(BundleOf("npu-1")), "ok npu-1\n");  // gives up after ten seconds
  silent.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(silent.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  // A user's fifth is told so at once. The one that was answered may still be counted.
  EXPECT_THAT(Ask(BundleOf("npu-2")), ::testing::AnyOf(HasSubstr("too many send"), HasSubstr("ok npu-2")));
  intake.reset();  // does not wait for them
  for (int one : silent) close(one);
}

// What another thread creates in the meantime goes by the process's mask.
TEST_F(LocalIntakeTest, TheProcessesMaskIsLeftAlone) {
  struct stat info;
  const mode_t before = umask(0000);
  auto listener = ListenLocal(socket_, 0600);
  EXPECT_EQ(umask(before), 0000u);
  ASSERT_TRUE(listener.ok());
  ASSERT_EQ(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  close(*listener);
}

TEST_F(LocalIntakeTest, OnlyItsOwnUserReachesTheSocketUnlessOthersAreNamed) {
  struct stat info;
  auto intake = Open();
  ASSERT_EQ(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  intake.reset();
  intake = Open({4242});
  ASSERT_EQ(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
}

TEST_F(LocalIntakeTest, ASocketThatAKilledAgentLeftIsReplacedAndALiveOneIsNot) {
  auto intake = Open();
  auto second = LocalIntake::Open(socket_, {}, {}, log_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  intake.reset();
  auto left = ListenLocal(socket_, 0600);
  ASSERT_TRUE(left.ok());
  close(*left);  // the file stays, nobody listens
  intake = Open();
  EXPECT_EQ(Ask(BundleOf("npu-1")), "ok npu-1\n");
}

TEST(LocalSocket, APathThatIsTooLongIsSaid) {
  const std::string path = absl::StrCat("/tmp/", std::string(200, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(ListenLocal(path, 0600).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AskLocal(path, "x", absl::Seconds(1)).status()));
}

}  // namespace
}  // namespace paritect
