#include "server/transport/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace paritect {
namespace {

int Dial(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) return fd;
  close(fd);
  return -1;
}

// Whether the other end hangs up within five seconds.
bool HangsUp(int fd) {
  timeval limit = {5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  char byte;
  return recv(fd, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

class ListenerTest : public ::testing::Test {
 protected:
  void Open(ListenerOptions options) {
    auto opened = Listener::Open({"127.0.0.1", 0}, options, [this](int fd) {
      std::lock_guard<std::mutex> lock(mutex_);
      taken_.push_back(fd);
    });
    ASSERT_TRUE(opened.ok()) << opened.status();
    listener_ = *std::move(opened);
  }

  bool WaitForTaken(std::size_t n) {
    for (int i = 0; i < 500; ++i) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (taken_.size() >= n) return true;
      }
      usleep(10'000);
    }
    return false;
  }

  void CloseTaken() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (int fd : taken_) close(fd);
    taken_.clear();
  }

  std::mutex mutex_;
  std::vector<int> taken_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, HandsConnectionsOver) {
  Open({});
  const int a = Dial(listener_->port());
  ASSERT_GE(a, 0);
  EXPECT_TRUE(WaitForTaken(1));
  EXPECT_EQ(listener_->counters().open, 1);
  close(a);
  CloseTaken();
}

TEST_F(ListenerTest, LimitsOneAddressAndForgetsWhatIsClosed) {
  ListenerOptions options;
  options.connections_per_address_max = 2;
  Open(options);
  const int a = Dial(listener_->port());
  const int b = Dial(listener_->port());
  ASSERT_TRUE(WaitForTaken(2));
  const int c = Dial(listener_->port());
  EXPECT_TRUE(HangsUp(c));
  EXPECT_EQ(listener_->counters().refused_per_address, 1);
  CloseTaken();
  for (int fd : {a, b, c}) close(fd);
  const int d = Dial(listener_->port());
  EXPECT_TRUE(WaitForTaken(1));
  close(d);
  CloseTaken();
}

TEST_F(ListenerTest, LimitsAll) {
  ListenerOptions options;
  options.connections_max = 1;
  Open(options);
  const int a = Dial(listener_->port());
  ASSERT_TRUE(WaitForTaken(1));
  const int b = Dial(listener_->port());
  EXPECT_TRUE(HangsUp(b));
  EXPECT_EQ(listener_->counters().refused_total, 1);
  close(a);
  close(b);
  CloseTaken();
}

TEST_F(ListenerTest, AnAddressInUseIsAnError) {
  Open({});
  const auto second = Listener::Open({"127.0.0.1", listener_->port()}, {}, [](int fd) { close(fd); });
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_TRUE(absl::IsUnavailable(Listener::Open({"192.0.2.1", 0}, {}, [](int fd) { close(fd); }).status()));
}

}  // namespace
}  // namespace paritect
