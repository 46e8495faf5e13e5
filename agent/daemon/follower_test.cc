#include "agent/daemon/follower.h"

#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "absl/time/clock.h"
#include "agent/spool/fault_disk.h"
#include "common/file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = absl::StrCat(testing::TempDir(), "/follower-XXXXXX");
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { EXPECT_EQ(system(absl::StrCat("rm -rf '", path_, "'").c_str()), 0); }
  const std::string& path() const { return path_; }
  void Write(absl::string_view name, absl::string_view text) { Put(name, text, std::ios::trunc); }
  void Append(absl::string_view name, absl::string_view text) { Put(name, text, std::ios::app); }

 private:
  void Put(absl::string_view name, absl::string_view text, std::ios::openmode mode) {
    std::ofstream(JoinPath(path_, name), std::ios::binary | mode) << text;
  }
  std::string path_;
};

// Real files, a spool in memory, a thread that looks every few milliseconds.
class FollowerTest : public testing::Test {
 protected:
  FollowerTest() : disk_(1), log_(text_, false) {
    spool_ = *Spool::Open(
        "spool", {.max_bytes = 64 << 20}, [] { return std::int64_t{1}; }, disk_);
    recorder_ = std::make_unique<Recorder>(
        *spool_,
        RecorderPorts{.wall_ms = [] { return std::int64_t{1}; }, .wake = [] {}, .retry = absl::Milliseconds(10)});
    bounds_.roots = {folder_.path()};
  }

  void Start(FollowerOptions options) {
    const auto now = [] { return absl::ToUnixMillis(absl::Now()); };
    follower_ = std::make_unique<Follower>(
        *recorder_, log_, "n1", "test",
        Follower::Ports{[this] { return bounds_; }, now, now, JoinPath(folder_.path(), "followed"), 7}, options);
  }
  static FollowerOptions Fast() { return {.poll_ms = 5, .list_ms = 5, .quiet_ms = 60'000}; }

  void Follow(const std::string& pattern) {
    v1::Task task;
    task.set_id("t");
    task.set_follow(true);
    task.mutable_plan()->set_base(folder_.path());
    task.mutable_plan()->mutable_info()->set_run("npu");
    task.mutable_plan()->add_logs()->set_file(pattern);
    follower_->Add(task);
  }

  // What was recorded so far: the steps of each source, and how the task ended.
  void Read() {
    for (;;) {
      const auto entries = *spool_->Read(read_ + 1, 1 << 20, 1000);
      if (entries.empty()) return;
      for (const SpoolEntry& entry : entries) {
        read_ = std::max(entry.sequence, entry.last_sequence);
        v1::Record record;
        ASSERT_TRUE(record.ParseFromString(entry.payload));
        if (record.has_task_end()) ended_ = record.task_end().ended();
        for (const v1::StepRecord& step : record.steps().steps()) {
          const std::string& source = record.steps().source();
          steps_[source.substr(source.rfind('/') + 1)].push_back(step.step());
        }
      }
    }
  }
  bool Await(const std::function<bool()>& reached) {
    for (const absl::Time until = absl::Now() + absl::Seconds(20); absl::Now() < until;) {
      Read();
      if (reached()) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }
  std::size_t Steps() const {
    std::size_t count = 0;
    for (const auto& [source, steps] : steps_) count += steps.size();
    return count;
  }
  static std::string Lines(int first, int last) {
    std::string text;
    for (int step = first; step <= last; ++step) absl::StrAppend(&text, "step ", step, "/1000 loss: 2.5\n");
    return text;
  }

  TempFolder folder_;
  TaskBounds bounds_;
  FaultDisk disk_;
  std::ostringstream text_;
  AgentLog log_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Follower> follower_;
  std::uint64_t read_ = 0;
  std::map<std::string, std::vector<std::int64_t>> steps_;
  std::string ended_ = "-";
};

TEST_F(FollowerTest, LogsWithNumbersAreNotPartsOfOneLog) {
  folder_.Write("worker.0", Lines(1, 3));
  folder_.Write("worker.1", Lines(1, 3));
  Start(Fast());
  Follow("worker.*");
  EXPECT_TRUE(Await([&] { return Steps() == 6; })) << Steps();
  EXPECT_EQ(steps_.size(), 2u);
  folder_.Append("worker.0", Lines(4, 5));
  folder_.Append("worker.1", Lines(4, 4));
  EXPECT_TRUE(Await([&] { return Steps() == 9; })) << Steps();
  EXPECT_EQ(steps_["worker.0"], (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(steps_["worker.1"], (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(FollowerTest, ThePartsOfARotatedLogAreOneLog) {
  folder_.Write("train.log.1", Lines(1, 3));
  folder_.Write("train.log", Lines(4, 6));
  Start(Fast());
  Follow("train.log*");
  EXPECT_TRUE(Await([&] { return Steps() == 6; })) << Steps();
  EXPECT_EQ(steps_.size(), 1u);
}

TEST_F(FollowerTest, ARestartGoesOnWhereItWas) {
  folder_.Write("train.log", Lines(1, 5));
  Start(Fast());
  Follow("train.log");
  EXPECT_TRUE(Await([&] { return Steps() == 5; })) << Steps();
  for (int restart = 0; restart < 3; ++restart) {
    follower_.reset();
    folder_.Append("train.log", Lines(6 + restart, 6 + restart));  // while no agent runs
    Start(Fast());
    Follow("train.log");
    EXPECT_TRUE(Await([&] { return steps_["train.log"].back() == 6 + restart; }));
  }
  EXPECT_EQ(steps_["train.log"], (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(FollowerTest, ALogThatWasWrittenAnewIsToldFromItsBeginning) {
  folder_.Write("train.log", Lines(1, 3));
  Start(Fast());
  Follow("train.log");
  EXPECT_TRUE(Await([&] { return Steps() == 3; })) << Steps();
  follower_.reset();
  folder_.Write("train.log", "step 1/1000 loss: 3.5\nstep 2/1000 loss: 3.25\nstep 3/1000 loss: 3.125\n");
  Start(Fast());
  Follow("train.log");
  EXPECT_TRUE(Await([&] { return Steps() == 6; })) << Steps();
}

TEST_F(FollowerTest, ATaskWithoutAnyLogEnds) {
  FollowerOptions options = Fast();
  options.idle_ms = 100;
  Start(options);
  Follow("nothing-*.log");
  EXPECT_TRUE(Await([&] { return ended_ != "-"; }));
  EXPECT_EQ(ended_, "no_log");
}

TEST_F(FollowerTest, ALowBandwidthKeepsNobodyWaitingAtTheEnd) {
  bounds_.bytes_per_second = 1024;
  folder_.Write("train.log", Lines(1, 20'000));  // some 500 KB: minutes at this rate
  Start(Fast());
  Follow("train.log");
  absl::SleepFor(absl::Milliseconds(50));
  follower_->Cancel("t");
  EXPECT_TRUE(Await([&] { return ended_ != "-"; }));
  EXPECT_EQ(ended_, "stopped");
}

TEST_F(FollowerTest, LogsBeyondTheBoundAreNamedOnce) {
  for (int i = 0; i < 260; ++i) folder_.Write(absl::StrCat("rank-", i, ".log"), Lines(1, 1));
  Start(Fast());
  Follow("rank-*.log");
  EXPECT_TRUE(Await([&] { return Steps() == 256; })) << Steps();
  absl::SleepFor(absl::Milliseconds(50));
  follower_->Shutdown();
  const std::string text = text_.str();
  EXPECT_THAT(text, HasSubstr("256 logs are followed"));
  EXPECT_EQ(text.find("256 logs are followed"), text.rfind("256 logs are followed"));
}

}  // namespace
}  // namespace paritect
