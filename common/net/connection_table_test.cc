#include "common/net/connection_table.h"

#include "absl/strings/str_cat.h"
#include "common/net/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using net_testing::Dialled;
using net_testing::ListeningSocket;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Answer = ConnectionTable::Answer;

class ConnectionTableTest : public ::testing::Test {
 protected:
  struct Pair {
    Dialled caller;
    int taken;
    std::string key;
  };
  Pair Connect(ConnectionTable& table, Answer wanted = Answer::kTaken) {
    Pair pair = {Dialled(listening_.port()), listening_.Accept(), ""};
    pair.key = PeerKey("127.0.0.1", pair.caller.own_port());
    EXPECT_EQ(table.Admit(pair.taken, "127.0.0.1", pair.key), wanted);
    return pair;
  }
  std::vector<std::string> Look(ConnectionTable& table, std::int64_t now_ms, bool crowded = false,
                                ConnectionTable::Whom whom = ConnectionTable::Whom::kAll) {
    std::vector<std::string> cut;
    table.Look(whom, now_ms, crowded,
               [&](const std::string& address, const char* why) { cut.push_back(absl::StrCat(address, " ", why)); });
    return cut;
  }
  // Until the kernel has counted them as received, which on the loopback is at once but not promised.
  void Deliver(const Pair& pair, std::size_t bytes) {
    pair.caller.Send(std::string(bytes, 'x'));
    std::string got(bytes, 0);
    EXPECT_EQ(recv(pair.taken, got.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  const ListeningSocket listening_;
};

TEST(PeerKeyTest, IsTheSameForTheListenerAndTheTransport) {
  EXPECT_EQ(PeerKeyOfUri("ipv4:10.0.0.1:4711"), PeerKey("10.0.0.1", 4711));
  EXPECT_EQ(PeerKeyOfUri("ipv6:%5B::1%5D:4711"), PeerKey("::1", 4711));
  EXPECT_EQ(PeerKeyOfUri("ipv6:[fe80::1%25eth0]:4711"), PeerKey("fe80::1%eth0", 4711));
}

TEST_F(ConnectionTableTest, AStrangerIsHungUpOnUnlessACallComes) {
  ConnectionLimits limits;
  limits.stranger_ms = 20'000;
  ConnectionTable table(limits);
  const Pair silent = Connect(table);
  const Pair known = Connect(table);
  ASSERT_TRUE(table.MakeStranger(silent.taken, 1000));
  ASSERT_TRUE(table.MakeStranger(known.taken, 1000));
  EXPECT_EQ(table.strangers(), 2);
  EXPECT_TRUE(table.Heard(known.key, "agent/gpu-01", true));
  EXPECT_FALSE(table.Heard(known.key, "agent/gpu-01", true)) << "a stranger no more";
  EXPECT_EQ(table.strangers(), 1);
  EXPECT_THAT(Look(table, 21'000), IsEmpty());
  EXPECT_THAT(Look(table, 21'001), ElementsAre(HasSubstr("127.0.0.1 no call")));
  EXPECT_TRUE(silent.caller.IsHungUpOn());
  close(silent.taken);
  EXPECT_THAT(Look(table, 90'000), IsEmpty());
  EXPECT_EQ(table.open(), 1);
  close(known.taken);
}

TEST_F(ConnectionTableTest, ACrowdShortensTheirTimeAndTheirNumberIsBounded) {
  ConnectionLimits limits;
  limits.strangers_max = 3;
  limits.strangers_per_address_max = 2;
  ConnectionTable table(limits);
  const Pair a = Connect(table), b = Connect(table), c = Connect(table);
  ASSERT_TRUE(table.MakeStranger(a.taken, 0));
  ASSERT_TRUE(table.MakeStranger(b.taken, 0));
  EXPECT_FALSE(table.MakeStranger(c.taken, 0)) << "of this address";
  EXPECT_THAT(Look(table, 11'000), IsEmpty());
  EXPECT_EQ(Look(table, 11'000, true).size(), 2u);
  close(a.taken);
  close(b.taken);
  Look(table, 11'001);
  EXPECT_TRUE(table.MakeStranger(c.taken, 0)) << "there is room again";
  close(c.taken);
}

TEST_F(ConnectionTableTest, BytesThatLeadToNoMessageAreCounted) {
  ConnectionLimits limits;
  limits.unheard_bytes_max = 100'000;
  ConnectionTable table(limits);
  const Pair honest = Connect(table);
  const Pair hostile = Connect(table);
  for (const Pair* pair : {&honest, &hostile}) {
    ASSERT_TRUE(table.MakeStranger(pair->taken, 0));
    table.Heard(pair->key, "agent/gpu-01", true);
  }
  for (int i = 0; i < 4; ++i) {
    Deliver(honest, 90'000);
    table.Heard(honest.key, "agent/gpu-01", true);
    EXPECT_THAT(Look(table, 1), IsEmpty());
  }
  Deliver(hostile, 90'000);
  EXPECT_THAT(Look(table, 1), IsEmpty());
  Deliver(hostile, 20'000);
  EXPECT_THAT(Look(table, 1), ElementsAre(HasSubstr("bytes without a message")));
  EXPECT_TRUE(hostile.caller.IsHungUpOn());
  close(honest.taken);
  close(hostile.taken);
}

// Streams that are opened and reset at once (CVE-2023-44487): each is a call, none brings a message.
TEST_F(ConnectionTableTest, CallsWithoutAMessageAreBytesThatLeadToNone) {
  ConnectionLimits limits;
  limits.unheard_bytes_max = 100'000;
  ConnectionTable table(limits);
  const Pair hostile = Connect(table);
  ASSERT_TRUE(table.MakeStranger(hostile.taken, 0));
  EXPECT_TRUE(table.Heard(hostile.key, "agent/gpu-01", false)) << "an admitted call: no stranger";
  EXPECT_EQ(table.strangers(), 0);
  for (int i = 0; i < 2; ++i) {
    Deliver(hostile, 40'000);
    table.Heard(hostile.key, "agent/gpu-01", false);
    EXPECT_THAT(Look(table, 1), IsEmpty());
  }
  Deliver(hostile, 40'000);
  table.Heard(hostile.key, "agent/gpu-01", false);
  EXPECT_THAT(Look(table, 1), ElementsAre(HasSubstr("bytes without a message")));
  close(hostile.taken);
}

TEST_F(ConnectionTableTest, FewBytesThatTakeLongAreCountedToo) {
  ConnectionLimits limits;
  limits.unheard_slow_bytes_max = 10'000;
  ConnectionTable table(limits);
  const Pair slow = Connect(table);
  ASSERT_TRUE(table.MakeStranger(slow.taken, 0));
  table.Heard(slow.key, "agent/gpu-01", true);
  Deliver(slow, 5'000);
  EXPECT_THAT(Look(table, 1'000), IsEmpty());
  EXPECT_THAT(Look(table, 500'000), IsEmpty()) << "heard since: those bytes were a message";
  Deliver(slow, 9'000);
  EXPECT_THAT(Look(table, 501'000), IsEmpty());
  EXPECT_THAT(Look(table, 600'000), IsEmpty()) << "a keepalive now and then";
  Deliver(slow, 2'000);
  EXPECT_THAT(Look(table, 600'001), ElementsAre(HasSubstr("bytes without a message")));
  close(slow.taken);
}

TEST_F(ConnectionTableTest, AllConnectionsOfACallerAreCountedTogether) {
  ConnectionLimits limits;
  limits.unheard_together_bytes_max = 100'000;
  ConnectionTable table(limits);
  const Pair most = Connect(table), second = Connect(table), other = Connect(table);
  for (const Pair* pair : {&most, &second, &other}) ASSERT_TRUE(table.MakeStranger(pair->taken, 0));
  for (const Pair* pair : {&most, &second}) table.Heard(pair->key, "agent/gpu-01", true);
  table.Heard(other.key, "agent/gpu-02", true);
  Look(table, 1);
  Deliver(most, 60'000);
  Deliver(second, 30'000);
  Deliver(other, 90'000);
  EXPECT_THAT(Look(table, 2), IsEmpty()) << "another's are not theirs";
  Deliver(second, 20'000);
  EXPECT_THAT(Look(table, 3), ElementsAre(HasSubstr("bytes without a message, with others")));
  EXPECT_TRUE(most.caller.IsHungUpOn()) << "who sent most goes, and no more than must";
  EXPECT_THAT(Look(table, 4), IsEmpty()) << "told once";
  for (const Pair* pair : {&most, &second, &other}) close(pair->taken);
}

TEST_F(ConnectionTableTest, StrangersAreCountedTogetherWhereverTheyComeFrom) {
  ConnectionLimits limits;
  limits.strangers_together_bytes_max = 100'000;
  ConnectionTable table(limits);
  const Pair first = Connect(table), second = Connect(table), third = Connect(table), known = Connect(table);
  for (const Pair* pair : {&first, &second, &third, &known}) ASSERT_TRUE(table.MakeStranger(pair->taken, 0));
  table.Heard(known.key, "viewer/chen", true);
  Look(table, 1);
  Deliver(known, 95'000);
  Deliver(first, 70'000);
  Deliver(second, 80'000);
  Deliver(third, 10'000);
  EXPECT_EQ(Look(table, 2).size(), 1u);
  EXPECT_TRUE(second.caller.IsHungUpOn());
  for (const Pair* pair : {&first, &second, &third, &known}) close(pair->taken);
}

TEST_F(ConnectionTableTest, AtStrangersAloneItIsLookedToo) {
  ConnectionLimits limits;
  limits.unheard_bytes_max = 10'000;
  limits.strangers_together_bytes_max = 12'000;
  ConnectionTable table(limits);
  const Pair first = Connect(table), second = Connect(table), gone = Connect(table), known = Connect(table);
  for (const Pair* pair : {&first, &second, &gone, &known}) ASSERT_TRUE(table.MakeStranger(pair->taken, 0));
  table.Heard(known.key, "viewer/chen", true);
  Look(table, 1);
  for (const Pair* pair : {&first, &second}) Deliver(*pair, 7'000);
  Deliver(known, 11'000);
  close(gone.taken);
  EXPECT_EQ(Look(table, 2, false, ConnectionTable::Whom::kStrangers).size(), 1u) << "one of those that go together";
  EXPECT_EQ(table.strangers(), 2) << "who is closed is forgotten";
  EXPECT_EQ(Look(table, 3).size(), 1u) << "the known one's turn";
  EXPECT_TRUE(known.caller.IsHungUpOn());
  for (const Pair* pair : {&first, &second, &known}) close(pair->taken);
}

// What it had sent already is not read any more.
TEST_F(ConnectionTableTest, WhoIsCutOffIsNotReadOn) {
  ConnectionLimits limits;
  limits.unheard_bytes_max = 10'000;
  ConnectionTable table(limits);
  const Pair hostile = Connect(table);
  ASSERT_TRUE(table.MakeStranger(hostile.taken, 0));
  Deliver(hostile, 10'001);
  hostile.caller.Send("more");
  EXPECT_EQ(Look(table, 1).size(), 1u);
  char byte = 0;
  EXPECT_LE(recv(hostile.taken, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_TRUE(hostile.caller.IsHungUpOn());
  close(hostile.taken);
}

TEST_F(ConnectionTableTest, ANumberThatIsGivenAnewIsAnotherConnection) {
  ConnectionLimits limits;
  limits.connections_per_address_max = 1;
  ConnectionTable table(limits);
  const Pair first = Connect(table);
  const int number = first.taken;
  close(number);
  const Pair second = Connect(table);
  EXPECT_EQ(table.open(), 1);
  EXPECT_FALSE(table.Heard(first.key, "agent/gpu-01", true)) << "the one before is forgotten";
  const Pair third = Connect(table, Answer::kTooManyOfAddress);
  close(second.taken);
  close(third.taken);
}

}  // namespace
}  // namespace paritect
