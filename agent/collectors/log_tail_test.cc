#include "agent/collectors/log_tail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

// On the machine's own disk: a file that is open while it grows, is renamed or cut short is what this is about.
class LogTailTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/tail-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    path_ = absl::StrCat(folder_, "/train.log");
  }

  void Write(const std::string& text, int flags = O_APPEND) { WriteTo(path_, text, flags); }
  static void WriteTo(const std::string& path, const std::string& text, int flags = O_APPEND) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | flags, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(fd);
  }

  // "1:2.5 2:2.4" and the changes of the file.
  std::string Poll(LogTail& tail) {
    now_ += 100'000;
    std::string out;
    for (const LogTailUpdate& update : tail.Poll(PosixFileSystem(), now_, 1 << 20)) {
      if (!update.change.empty()) absl::StrAppend(&out, out.empty() ? "" : " ", update.change);
      for (const v1::StepRecord& step : update.steps) {
        absl::StrAppend(&out, out.empty() ? "" : " ", step.step(), ":", step.loss());
      }
    }
    return out;
  }

  std::string folder_;
  std::string path_;
  std::int64_t now_ = 1;
};

TEST_F(LogTailTest, TellsEachStepOnceAsItIsWritten) {
  LogTail tail({}, path_, {});
  EXPECT_EQ(Poll(tail), "");  // not there yet
  Write("step 1 loss 2.5\nstep 2 lo");
  EXPECT_EQ(Poll(tail), "1:2.5");
  Write("ss 2.25\n");
  EXPECT_EQ(Poll(tail), "2:2.25");
  EXPECT_EQ(Poll(tail), "");
  Write("step 3 loss nan\n");
  EXPECT_EQ(Poll(tail), "3:nan");
  EXPECT_EQ(tail.bytes_read(), 15u + 1 + 17 + 16);
}

TEST_F(LogTailTest, ARotatedFileIsReadToItsEndAndTheNewOneFromItsBeginning) {
  LogTail tail({}, path_, {});
  Write("step 1 loss 2.5\n");
  EXPECT_EQ(Poll(tail), "1:2.5");
  Write("step 2 loss 2.25\n");
  ASSERT_EQ(rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  Write("step 3 loss 2\n");
  EXPECT_EQ(Poll(tail), "rotated 2:2.25 3:2");
  EXPECT_TRUE(tail.Knows(*PosixFileSystem().Stat(path_ + ".1")));
}

TEST_F(LogTailTest, ATruncatedFileIsReadFromItsBeginning) {
  LogTail tail({}, path_, {});
  Write("step 1 loss 2.5\nstep 2 loss 2.25\nstep 3 lo");
  EXPECT_EQ(Poll(tail), "1:2.5 2:2.25");
  Write("step 3 loss 2\n", O_TRUNC);
  EXPECT_EQ(Poll(tail), "truncated 3:2");
}

TEST_F(LogTailTest, OlderPartsComeFirst) {
  WriteTo(path_ + ".1", "step 1 loss 2.5\n");
  Write("step 2 loss 2.25\n");
  LogTail tail({path_ + ".1"}, path_, {});
  EXPECT_EQ(Poll(tail), "1:2.5 2:2.25");
}

TEST_F(LogTailTest, ADialectThatShowsItselfLaterIsTaken) {
  LogTail tail({}, path_, {});
  Write("starting\n");
  EXPECT_EQ(Poll(tail), "");
  Write("{\"step\": 1, \"loss\": 2.5}\n");
  EXPECT_EQ(Poll(tail), "1:2.5");
  Write("{\"step\": 2, \"loss\": 2.25}\n");
  EXPECT_EQ(Poll(tail), "2:2.25");
}

TEST_F(LogTailTest, AWholeDocumentIsReadAgainWhenItChanged) {
  LogTail tail({}, path_, {});
  Write("{\"log_history\": [{\"loss\": 2.5, \"step\": 1}], \"global_step\": 1}");
  EXPECT_EQ(Poll(tail), "1:2.5");
  Write("{\"log_history\": [{\"loss\": 2.5, \"step\": 1}, {\"loss\": 2.25, \"step\": 2}], \"global_step\": 2}",
        O_TRUNC);
  EXPECT_EQ(Poll(tail), "2:2.25");
}

}  // namespace
}  // namespace paritect
