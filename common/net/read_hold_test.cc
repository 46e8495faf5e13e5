#include "common/net/read_hold.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <memory>
#include <string>

#include "common/net/testing.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using net_testing::Dialled;
using net_testing::ListeningSocket;

// As gRPC looks at a connection.
class EdgeWatch {
 public:
  explicit EdgeWatch(int descriptor) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  }
  ~EdgeWatch() { close(epoll_); }
  bool ShowsBytes(int timeout_ms) const {
    epoll_event event = {};
    return epoll_wait(epoll_, &event, 1, timeout_ms) == 1 && (event.events & EPOLLIN) != 0;
  }

 private:
  const int epoll_;
};

TEST(ReadHold, HidesWhatWaitsAndTellsOfItAtItsEnd) {
  const ListeningSocket listening;
  const Dialled caller(listening.port());
  const int taken = listening.Accept();
  caller.Send(std::string(517, 'x'));
  char first;
  ASSERT_EQ(recv(taken, &first, 1, MSG_PEEK), 1) << "they have arrived";
  {
    const ReadHold hold(taken);
    const EdgeWatch watch(taken);
    EXPECT_FALSE(watch.ShowsBytes(0));
    caller.Send(std::string(20'000, 'x'));
    int waiting = 0;
    while (waiting < 20'517) ASSERT_EQ(ioctl(taken, FIONREAD, &waiting), 0);
    EXPECT_FALSE(watch.ShowsBytes(0)) << "more of them neither";
  }
  const EdgeWatch later(taken);
  EXPECT_TRUE(later.ShowsBytes(0)) << "nothing is held any more";
  close(taken);
}

TEST(ReadHold, ItsEndWakesWhoWatchedAlready) {
  const ListeningSocket listening;
  const Dialled caller(listening.port());
  const int taken = listening.Accept();
  caller.Send("x");
  char first;
  ASSERT_EQ(recv(taken, &first, 1, MSG_PEEK), 1);
  auto hold = std::make_unique<ReadHold>(taken);
  const EdgeWatch watch(taken);
  EXPECT_FALSE(watch.ShowsBytes(0));
  hold.reset();
  EXPECT_TRUE(watch.ShowsBytes(10'000));
  close(taken);
}

TEST(ReadHold, IsForKernelsThatWake) {
  EXPECT_TRUE(WakesWhenHoldEnds("4.18.0-553.el8.x86_64"));
  EXPECT_TRUE(WakesWhenHoldEnds("6.1.0-13-amd64"));
  EXPECT_TRUE(WakesWhenHoldEnds("5.10-rc1"));
  EXPECT_FALSE(WakesWhenHoldEnds("4.17.19"));
  EXPECT_FALSE(WakesWhenHoldEnds("3.10.0-1160.el7.x86_64"));
  EXPECT_FALSE(WakesWhenHoldEnds("unknown"));
}

}  // namespace
}  // namespace paritect
