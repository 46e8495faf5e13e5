// A store whose process is killed, and one whose disk is full.
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "common/digest.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::IsEmpty;

// More of them: PARITECT_KILLS=200.
int Kills() {
  const char* text = std::getenv("PARITECT_KILLS");
  int kills = 20;
  return text != nullptr && absl::SimpleAtoi(text, &kills) ? kills : 20;
}

// One commit of everything, recognisable by its number.
WriteSet Numbered(std::uint64_t number) {
  WriteSet set = Documents({{"a", NumberKeyPart(number), "x"}, {"b", NumberKeyPart(number), "y"}});
  const std::string content = absl::StrCat("content", number, std::string(number % 7 * 3000, 'c'));
  set.contents.push_back({Sha256(content), content});
  set.documents[0].references = {Sha256(content)};
  set.batches.push_back(Batch("n", 1, number, number, 1));
  set.log.push_back(LogEntry(absl::StrCat(number)));
  return set;
}

// Commits from `next` on and tells of each commit that returned, until it is killed.
[[noreturn]] void CommitForEver(const std::string& path, std::uint64_t next, int tell) {
  const auto store = OpenFleetStore("sqlite:" + path);
  if (!store.ok()) ::_exit(3);
  for (;; ++next) {
    if (!CommitOne(**store, Numbered(next)).ok()) ::_exit(4);
    if (::write(tell, &next, sizeof next) != sizeof next) ::_exit(5);
    if (next % 50 == 0 && !(*store)->Compact().ok()) ::_exit(6);
  }
}

TEST(FleetCrash, EveryCommitThatReturnedIsThereAndNoneByHalf) {
  const std::string path = NewStorePath("crash");
  std::mt19937 random(20);
  std::uint64_t told = 0, there = 0;
  for (int kill = 0; kill < Kills(); ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_NE(child, -1) << strerror(errno);  // kill(-1) would be meant for every process there is
    if (child == 0) CommitForEver(path, there + 1, pipe[1]);
    ::close(pipe[1]);
    // Anywhere in the work that follows some commits.
    for (std::uint64_t left = 1 + random() % 40, one = 0; left > 0; --left) {
      if (::read(pipe[0], &one, sizeof one) != sizeof one) break;
      told = one;
    }
    absl::SleepFor(absl::Microseconds(random() % 5000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    for (std::uint64_t one = 0; ::read(pipe[0], &one, sizeof one) == sizeof one;) told = one;
    ::close(pipe[0]);

    const auto store = OpenFleetStore("sqlite:" + path);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_THAT(*(*store)->Verify(), IsEmpty());
    const FleetStoreStats stats = *(*store)->Stats();
    const std::uint64_t before = there;
    there = static_cast<std::uint64_t>(stats.batches);
    ASSERT_GE(there, std::max(told, before)) << "a commit that returned is lost";
    ASSERT_LE(there, std::max(told, before) + 1) << "at most the one that was under way";
    ASSERT_EQ(stats.documents, static_cast<std::int64_t>(2 * there));
    ASSERT_EQ(stats.contents, static_cast<std::int64_t>(there));
    ASSERT_EQ(stats.log_entries, static_cast<std::int64_t>(there));
  }
  EXPECT_GE(told, static_cast<std::uint64_t>(Kills())) << "the child was killed while it worked";
}

// A limit of the file's size stands for a full disk: writing beyond it fails the same way (EFBIG for ENOSPC).
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit lower = limit_;
    lower.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_ = {};
  void (*before_)(int) = nullptr;
};

TEST(FleetFullDisk, ChangesNothingStaysReadableAndWorksAgain) {
  const auto store = *OpenFleetStore(absl::StrCat("sqlite:", NewStorePath("full")));
  std::uint64_t next = 1;
  for (; next <= 10; ++next) ASSERT_TRUE(CommitOne(*store, Numbered(next)).ok());
  {
    const FullDisk full(300'000);
    absl::Status status;
    while (next < 10'000 && (status = CommitOne(*store, Numbered(next))).ok()) ++next;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(CommitOne(*store, Numbered(next)).code(), absl::StatusCode::kResourceExhausted);
    }
    {
      const FullDisk fuller(20'000);
      const std::string copy = NewStorePath("full_copy");
      EXPECT_EQ(store->Backup(copy).code(), absl::StatusCode::kResourceExhausted);
      EXPECT_NE(::access(copy.c_str(), F_OK), 0) << "half a backup is none";
    }
    EXPECT_EQ(*store->Get("a", NumberKeyPart(next - 1)), "x");
    EXPECT_FALSE(*store->Get("a", NumberKeyPart(next)));
    EXPECT_EQ(store->Stats()->batches, static_cast<std::int64_t>(next - 1));
    EXPECT_THAT(*store->Verify(), IsEmpty());
  }
  for (const std::uint64_t end = next + 20; next < end; ++next) {
    ASSERT_TRUE(CommitOne(*store, Numbered(next)).ok()) << next;
  }
  EXPECT_EQ(store->Stats()->log_entries, static_cast<std::int64_t>(next - 1));
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

// The same where memory would suffice but a value is larger than what is left.
TEST(FleetFullDisk, ACommitThatIsTooLargeLeavesRoomForASmallOne) {
  const auto store = *OpenFleetStore(absl::StrCat("sqlite:", NewStorePath("large")));
  const FullDisk full(2'000'000);
  WriteSet large;
  const std::string content(5'000'000, 'x');
  large.contents.push_back({Sha256(content), content});
  EXPECT_EQ(CommitOne(*store, large).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(CommitOne(*store, Numbered(1)).ok());
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

}  // namespace
}  // namespace paritect
