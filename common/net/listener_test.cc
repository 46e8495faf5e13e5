#include "common/net/listener.h"

#include <unistd.h>

#include <mutex>

#include "common/net/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using net_testing::Dialled;

class ListenerTest : public ::testing::Test {
 protected:
  void Open(ListenerOptions options) {
    auto opened = Listener::Open({"127.0.0.1", 0}, options, {[this](Arrival arrival) {
                                   std::lock_guard<std::mutex> lock(mutex_);
                                   taken_.push_back(arrival.descriptor);
                                   for_door_.push_back(arrival.for_door);
                                 }});
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
  std::vector<bool> for_door_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, HandsConnectionsOver) {
  Open({});
  const Dialled a(listener_->port());
  ASSERT_GE(a.fd(), 0);
  EXPECT_TRUE(WaitForTaken(1));
  EXPECT_EQ(listener_->counters().open, 1);
  CloseTaken();
}

TEST_F(ListenerTest, LimitsOneAddressAndForgetsWhatIsClosed) {
  ListenerOptions options;
  options.limits.connections_per_address_max = 2;
  Open(options);
  Dialled a(listener_->port());
  const Dialled b(listener_->port());
  ASSERT_TRUE(WaitForTaken(2));
  const Dialled c(listener_->port());
  EXPECT_TRUE(c.IsHungUpOn());
  EXPECT_EQ(listener_->counters().refused_per_address, 1);
  CloseTaken();
  a.Close();
  const Dialled d(listener_->port());
  EXPECT_TRUE(WaitForTaken(1));
  CloseTaken();
}

TEST_F(ListenerTest, LimitsAll) {
  ListenerOptions options;
  options.limits.connections_max = 1;
  Open(options);
  Dialled a(listener_->port());
  ASSERT_TRUE(WaitForTaken(1));
  const Dialled b(listener_->port());
  EXPECT_TRUE(b.IsHungUpOn());
  EXPECT_EQ(listener_->counters().refused_total, 1);
  CloseTaken();
}

TEST_F(ListenerTest, AnAddressInUseIsAnError) {
  Open({});
  const auto second =
      Listener::Open({"127.0.0.1", listener_->port()}, {}, {[](Arrival arrival) { close(arrival.descriptor); }});
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_TRUE(absl::IsUnavailable(
      Listener::Open({"192.0.2.1", 0}, {}, {[](Arrival arrival) { close(arrival.descriptor); }}).status()));
}

// A hello that offers one protocol, as short as it may be (client_hello_test.cc has real ones).
std::string Hello(const std::string& protocol) {
  const auto counted = [](int length_bytes, const std::string& body) {
    std::string out;
    for (int shift = 8 * (length_bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(body.size() >> shift);
    return out + body;
  };
  const std::string alpn = std::string("\0\x10", 2) + counted(2, counted(2, counted(1, protocol)));
  const std::string hello =
      std::string(34, 'r') + counted(1, "") + counted(2, "ss") + counted(1, "c") + counted(2, alpn);
  return "\x16\x03\x01" + counted(2, "\x01" + counted(3, hello));
}

class PeekingTest : public ListenerTest {
 protected:
  void OpenPeeking() {
    options_.peek = true;
    Open(options_);
  }
  ListenerOptions options_;
};

TEST_F(PeekingTest, TellsTheDoorsCallersFromOthersAndTakesNothingAway) {
  OpenPeeking();
  const Dialled door(listener_->port());
  door.Send(Hello("paritect-enrol/1"));
  ASSERT_TRUE(WaitForTaken(1));
  const Dialled other(listener_->port());
  const std::string hello = Hello("h2");
  other.Send(hello.substr(0, 10));
  other.Send(hello.substr(10));
  ASSERT_TRUE(WaitForTaken(2));
  EXPECT_THAT(for_door_, testing::ElementsAre(true, false));
  EXPECT_EQ(listener_->counters().strangers, 1);
  std::string there(hello.size(), 0);
  EXPECT_EQ(recv(taken_[1], there.data(), there.size(), MSG_WAITALL), static_cast<ssize_t>(hello.size()));
  EXPECT_EQ(there, hello);
  listener_->Heard(PeerKey("127.0.0.1", other.own_port()), "agent/gpu-01", true);
  EXPECT_EQ(listener_->counters().strangers, 0);
  CloseTaken();
}

TEST_F(PeekingTest, WhatIsNoTlsNeverReachesTheTransport) {
  OpenPeeking();
  const Dialled plain(listener_->port());
  plain.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_TRUE(plain.IsHungUpOn());
  EXPECT_TRUE(taken_.empty());
  EXPECT_EQ(listener_->counters().cut, 1);
}

TEST_F(PeekingTest, HalfOpenConnectionsEndAndCrowdNobodyOut) {
  options_.waiting_max = 4;
  options_.hello_ms = 1500;
  OpenPeeking();
  std::vector<Dialled> silent;
  for (int i = 0; i < 12; ++i) silent.emplace_back(listener_->port());
  EXPECT_TRUE(silent.front().IsHungUpOn()) << "the oldest goes";
  const Dialled caller(listener_->port());
  caller.Send(Hello("h2"));
  EXPECT_TRUE(WaitForTaken(1));
  EXPECT_TRUE(silent.back().IsHungUpOn()) << "silence has an end";
  CloseTaken();
}

TEST_F(PeekingTest, StrangersWaitForAPlaceUntilACallOfAnotherComes) {
  options_.limits.strangers_max = 1;
  OpenPeeking();
  const Dialled first(listener_->port());
  first.Send(Hello("h2"));
  ASSERT_TRUE(WaitForTaken(1));
  const Dialled second(listener_->port());
  second.Send(Hello("h2"));
  const Dialled door(listener_->port());
  door.Send(Hello("paritect-enrol/1"));
  ASSERT_TRUE(WaitForTaken(2));
  EXPECT_THAT(for_door_, testing::ElementsAre(false, true)) << "the door does not wait for them";
  listener_->Heard(PeerKey("127.0.0.1", first.own_port()), "agent/gpu-01", true);
  EXPECT_TRUE(WaitForTaken(3));
  CloseTaken();
}

}  // namespace
}  // namespace paritect
