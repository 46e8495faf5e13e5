#include "checks/shards/shuffle_laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/shards/shuffle_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

// Figures of PyTorch 1.13, CPython 3.11 and NumPy 1.24.
TEST(ShuffleFixture, AsTheLibrariesShuffle) {
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kTorch, 0}, 12), ElementsAre(8, 0, 5, 9, 7, 4, 2, 10, 3, 1, 11, 6));
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kTorch, 42}, 12), ElementsAre(6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9));
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kPython, 0}, 12), ElementsAre(1, 9, 8, 5, 10, 2, 3, 7, 4, 0, 11, 6));
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kPython, 42}, 12), ElementsAre(7, 5, 2, 8, 9, 6, 11, 3, 4, 0, 1, 10));
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kNumpy, 0}, 12), ElementsAre(6, 11, 4, 10, 2, 8, 1, 7, 9, 3, 0, 5));
  EXPECT_THAT(ShuffledOrder({ShuffleLaw::kNumpy, 42}, 12), ElementsAre(10, 9, 0, 8, 5, 2, 1, 11, 4, 7, 3, 6));
}

TEST(ShuffleLaws, TheSeedIsFoundAgain) {
  for (ShuffleLaw law : {ShuffleLaw::kTorch, ShuffleLaw::kPython, ShuffleLaw::kNumpy}) {
    for (std::uint32_t seed : {0u, 1u, 1234u, 4095u, 20240101u}) {
      for (std::size_t count : {20u, 700u, 5000u}) {
        const Shuffle shuffle = {law, seed};
        EXPECT_EQ(FindShuffle(ShuffledOrder(shuffle, count), count), shuffle) << seed << " of " << count;
      }
    }
  }
}

TEST(ShuffleLaws, TheHeadOfAShuffleTellsTheLawOfTorch) {
  std::vector<std::uint32_t> order = ShuffledOrder({ShuffleLaw::kTorch, 42}, 103);
  order.resize(100);
  EXPECT_EQ(FindShuffle(order, 103), (Shuffle{ShuffleLaw::kTorch, 42}));
  EXPECT_EQ(FindShuffle(order, 104), std::nullopt);
}

TEST(ShuffleLaws, WhatNoSeedGivesHasNone) {
  std::vector<std::uint32_t> order = ShuffledOrder({ShuffleLaw::kTorch, 7}, 100);
  std::swap(order[90], order[95]);
  EXPECT_EQ(FindShuffle(order, 100), std::nullopt);
  EXPECT_EQ(FindShuffle(ShuffledOrder({ShuffleLaw::kTorch, 5'000'001}, 100), 100), std::nullopt);
  // Of few entries many seeds give any order.
  EXPECT_EQ(FindShuffle(ShuffledOrder({ShuffleLaw::kTorch, 7}, kShuffleMin - 1), kShuffleMin - 1), std::nullopt);
  EXPECT_EQ(FindShuffle({}, 0), std::nullopt);
}

}  // namespace
}  // namespace paritect
