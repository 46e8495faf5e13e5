#include "server/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace paritect {
namespace {

TEST(Executor, RunsInOrderAndFinishesWhatWasPosted) {
  std::vector<int> ran;
  Executor executor;
  for (int i = 0; i < 1000; ++i) executor.Post([&ran, i] { ran.push_back(i); });
  executor.Stop();
  ASSERT_EQ(ran.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  executor.Post([] { FAIL(); });
}

TEST(Executor, WorkMayPostWork) {
  std::atomic<int> ran = 0;
  Executor executor;
  std::mutex held;
  held.lock();
  executor.Post([&] {
    held.lock();  // the poster waits for nothing of it
    executor.Post([&] { ++ran; });
    held.unlock();
  });
  held.unlock();
  while (ran == 0) std::this_thread::yield();
  executor.Stop();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace paritect
