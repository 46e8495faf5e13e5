#include "common/in_order.h"

#include <gtest/gtest.h>

#include <atomic>

namespace paritect {
namespace {

TEST(MakeInOrder, ResultsComeInOrderWhateverTheThreads) {
  for (const int threads : {0, 1, 2, 3, 8, 100}) {
    for (const std::size_t count : {0, 1, 2, 7, 300}) {
      std::vector<std::size_t> taken;
      MakeInOrder(
          count, threads, [](std::size_t i) { return i * i; }, [&](std::size_t one) { taken.push_back(one); });
      ASSERT_EQ(taken.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(taken[i], i * i);
    }
  }
}

TEST(MakeInOrder, WorksAtSeveralThingsAtOnce) {
  int there = 0;
  absl::Mutex mutex;
  const auto meet = [&](std::size_t i) {  // each waits for the other
    absl::MutexLock lock(&mutex);
    ++there;
    const auto all = [&] { return there == 2; };
    mutex.Await(absl::Condition(&all));
    return i;
  };
  std::size_t sum = 0;
  MakeInOrder(2, 2, meet, [&](std::size_t one) { sum += one; });
  EXPECT_EQ(sum, 1u);
}

TEST(MakeInOrder, WhatWaitsIsBounded) {
  constexpr int kThreads = 3;
  std::atomic<int> waiting = 0;
  std::atomic<int> most = 0;
  const auto make = [&](std::size_t i) {
    const int now = ++waiting;
    for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    return i;
  };
  MakeInOrder(500, kThreads, make, [&](std::size_t) { --waiting; });
  EXPECT_LE(most.load(), kThreads + 1);  // one may be with the taker
}

}  // namespace
}  // namespace paritect
