#include "client/run/live_handover.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace paritect {
namespace {

// Bytes that come within some seconds.
int Received(int end, int wanted) {
  int count = 0;
  pollfd one = {end, POLLIN, 0};
  while (count < wanted && poll(&one, 1, 10'000) > 0) {
    char byte = 0;
    if (read(end, &byte, 1) != 1) break;
    ++count;
  }
  return count;
}

TEST(LiveHandover, HandsOverAgainAndAgainAndEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const LiveHandover live(
        absl::Milliseconds(5), [] { return false; }, [&] { (void)!write(ends[1], "x", 1); });
    EXPECT_EQ(Received(ends[0], 3), 3);
  }
  // The helper is gone: with our own end closed nobody holds the pipe open.
  close(ends[1]);
  char rest[64];
  while (read(ends[0], rest, sizeof rest) > 0) {
  }
  EXPECT_EQ(read(ends[0], rest, sizeof rest), 0);
  close(ends[0]);
}

TEST(LiveHandover, HandsOverNothingBeforeItsTime) {
  int called = 0;
  {
    const LiveHandover live(
        absl::Hours(1), [] { return false; }, [&] { ++called; });
  }
  EXPECT_EQ(called, 0);
}

TEST(LiveHandover, HandsOverWhenThereIsSomething) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const LiveHandover live(
        absl::Hours(1), [] { return true; }, [&] { (void)!write(ends[1], "x", 1); });
    EXPECT_EQ(Received(ends[0], 1), 1);
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace paritect
