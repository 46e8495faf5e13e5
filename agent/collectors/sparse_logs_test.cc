// Logs with holes, on a real disk: a log that was cut while a program went on writing behind its old end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/collectors/log_files.h"
#include "agent/collectors/log_tail.h"

namespace paritect {
namespace {

constexpr off_t kFar = off_t{1} << 40;  // reading so many zeros would take an hour

class SparseLogs : public testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(testing::TempDir(), "/paritect-sparse-", getpid(), ".log");
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd_, 0);
  }
  void TearDown() override {
    close(fd_);
    unlink(path_.c_str());
  }

  void Write(off_t at, const std::string& text) {
    ASSERT_EQ(pwrite(fd_, text.data(), text.size(), at), static_cast<ssize_t>(text.size()));
  }

  // Whether the disk of the tests keeps holes at all.
  bool Sparse() {
    const auto info = PosixFileSystem().Stat(path_);
    return info.ok() && info->may_have_holes;
  }

  std::string path_;
  int fd_ = -1;
};

TEST_F(SparseLogs, HolesAreNotRead) {
  Write(0, "step 1 loss 2.5\nstep 2 los");
  Write(kFar, "\nstep 3 loss 2.25\nstep 4 loss 2.0\n");
  ASSERT_EQ(ftruncate(fd_, 2 * kFar), 0);
  if (!Sparse()) GTEST_SKIP() << "the disk of the tests keeps no holes";
  const auto log = ReadLogFiles(PosixFileSystem(), {path_}, {});
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_EQ(log->records_size(), 3);
  EXPECT_EQ(log->records(1).step(), 3);
  EXPECT_EQ(log->unparsed_total(), 1);
  ASSERT_GT(log->notes_size(), 0);
  EXPECT_EQ(log->notes(0).kind(), "gap");
}

TEST_F(SparseLogs, AHoleAtTheBeginning) {
  Write(kFar, "step 3 loss 2.25\nstep 4 loss 2.0\n");
  if (!Sparse()) GTEST_SKIP() << "the disk of the tests keeps no holes";
  const auto log = ReadLogFiles(PosixFileSystem(), {path_}, {});
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->records_size(), 2);
}

TEST_F(SparseLogs, NothingButAHole) {
  ASSERT_EQ(ftruncate(fd_, kFar), 0);
  if (!Sparse()) GTEST_SKIP() << "the disk of the tests keeps no holes";
  const auto log = ReadLogFiles(PosixFileSystem(), {path_}, {});
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->format(), "unknown");
}

TEST_F(SparseLogs, ALiveLogWithAHole) {
  Write(0, "step 1 loss 2.5\nstep 2 loss 2.25\n");
  Write(kFar, "\nstep 3 loss 2.125\n");
  if (!Sparse()) GTEST_SKIP() << "the disk of the tests keeps no holes";
  LogTail tail({}, path_, {});
  std::size_t steps = 0;
  for (int look = 0; look < 3; ++look) {
    for (const LogTailUpdate& update : tail.Poll(PosixFileSystem(), 1000 * look, 1 << 20)) steps += update.steps.size();
  }
  EXPECT_GE(steps, 3u);
}

}  // namespace
}  // namespace paritect
