// The enrolment door and the plain form of it, as strangers may use them.
#include "common/net/one_shot_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/net/ask_door.h"
#include "common/net/door_protocol.h"
#include "common/net/door_session.h"
#include "common/net/listener.h"
#include "common/net/testing.h"
#include "common/net/tls_stream.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using net_testing::Dialled;

// Lines, answered in capitals.
OneShotPorts Shouting() {
  OneShotPorts ports;
  ports.whole = [](absl::string_view received) -> absl::StatusOr<bool> {
    if (received.front() == '!') return absl::InvalidArgumentError("no");
    return received.back() == '\n';
  };
  ports.answer = [](absl::string_view request, const OneShotPeer& peer) {
    std::string out = absl::StrCat(peer.address, " ", request);
    for (char& c : out) c = static_cast<char>(toupper(c));
    return out;
  };
  return ports;
}

// A OneShotServer behind a listener of its own.
class Served {
 public:
  explicit Served(OneShotOptions options = {}, OneShotPorts ports = Shouting())
      : server_(options, std::move(ports)),
        listener_(*Listener::Open({"127.0.0.1", 0}, {}, {[this](const Arrival& arrival) {
                                    server_.Take(arrival.descriptor, arrival.address);
                                  }})) {}
  ~Served() { listener_->Stop(); }
  int port() const { return listener_->port(); }
  const OneShotServer& server() const { return server_; }

 private:
  OneShotServer server_;
  std::unique_ptr<Listener> listener_;
};

TEST(OneShotServer, AnswersOnceAndHangsUp) {
  const Served served;
  const Dialled caller(served.port());
  caller.Send("who ");
  caller.Send("goes there\n");
  bool hung_up = false;
  EXPECT_EQ(caller.Drain(&hung_up), "127.0.0.1 WHO GOES THERE\n");
  EXPECT_TRUE(hung_up);
}

TEST(OneShotServer, RequestsAreBoundedInBytesAndTime) {
  OneShotOptions options;
  options.request_bytes_max = 100;
  options.time_ms = 300;
  const Served served(options);
  const Dialled endless(served.port());
  endless.Send(std::string(101, 'x'));
  EXPECT_TRUE(endless.IsHungUpOn());
  const Dialled wrong(served.port());
  wrong.Send("!");
  EXPECT_TRUE(wrong.IsHungUpOn());
  const Dialled silent(served.port());
  EXPECT_TRUE(silent.IsHungUpOn());
  // A byte now and then is no progress.
  const Dialled drip(served.port());
  std::thread dripping([&] {
    for (int i = 0; i < 50; ++i) {
      drip.Send("x");
      usleep(20'000);
    }
  });
  EXPECT_TRUE(drip.IsHungUpOn());
  dripping.join();
}

TEST(OneShotServer, AnAnswerThatNobodyReadsEnds) {
  OneShotOptions options;
  options.time_ms = 300;
  OneShotPorts ports = Shouting();
  ports.answer = [](absl::string_view, const OneShotPeer&) { return std::string(64 << 20, 'x'); };
  const Served served(options, std::move(ports));
  const Dialled deaf(served.port());
  deaf.Send("x\n");
  for (int i = 0; i < 1000 && served.server().callers() == 0; ++i) usleep(5'000);
  for (int i = 0; i < 1000 && served.server().callers() != 0; ++i) usleep(5'000);
  EXPECT_EQ(served.server().callers(), 0);
}

// Where some answers are dear, nobody's many calls hold up the one of another address.
TEST(OneShotServer, DearAnswersAreGivenInTurn) {
  absl::Notification begun;
  absl::Notification go;
  std::vector<std::string> order;  // of the server's thread, until it has stopped
  OneShotPorts ports = Shouting();
  ports.answer_plain = ports.answer;
  ports.answer = [&](absl::string_view, const OneShotPeer& peer) {
    if (order.empty()) begun.Notify();
    go.WaitForNotification();
    order.push_back(peer.address);
    return std::string("dear");
  };
  OneShotServer server({}, std::move(ports));
  std::vector<int> ends;
  const auto ask = [&](const std::string& address) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ASSERT_EQ(write(pair[1], "x\n", 2), 2);
    ends.push_back(pair[1]);
    server.Take(pair[0], address);
  };
  ask("many");
  begun.WaitForNotification();
  for (int i = 0; i < 3; ++i) ask("many");
  ask("one");
  go.Notify();
  for (int end : ends) {
    pollfd answered = {end, POLLIN, 0};
    EXPECT_EQ(poll(&answered, 1, 30'000), 1);
    close(end);
  }
  server.Stop();
  EXPECT_THAT(order, ::testing::ElementsAre("many", "one", "many", "many", "many"));
}

TEST(OneShotServer, HoweverManyDawdleWhoAsksIsServed) {
  OneShotOptions options;
  options.callers_max = 8;
  options.callers_per_address_max = 8;
  const Served served(options);
  std::vector<Dialled> dawdlers;
  for (int i = 0; i < 40; ++i) {
    dawdlers.emplace_back(served.port());
    dawdlers.back().Send("GET / HTTP/1.1 and nothing more");
  }
  EXPECT_TRUE(dawdlers.front().IsHungUpOn()) << "the oldest goes";
  const Dialled caller(served.port());
  caller.Send("x\n");
  EXPECT_EQ(caller.Drain(), "127.0.0.1 X\n");
}

class DoorTest : public ::testing::Test {
 protected:
  Served MakeDoor(OneShotOptions options = DoorOptions()) {
    return Served(options, DoorPorts([this] { return openssl::UniqueSsl(SSL_new(context_.get())); },
                                     [](absl::string_view body, const std::string&) {
                                       return absl::StrCat("heard ", body.size(), " bytes");
                                     }));
  }
  DoorQuery Query(const Served& door) const { return {{"127.0.0.1", door.port()}, kNow, 5000, true}; }

  const Authority authority_ = NewAuthority();
  const KeyPair key_ = Key();
  const Certificate server_ = ServerOf(authority_, key_, {"127.0.0.1"});
  const CaPin pin_ = CaPin::Of(authority_.certificate());
  const openssl::UniqueSslContext context_ =
      *NewDoorContext(absl::StrCat(server_.ToPem(), authority_.certificate().ToPem()), Pem(key_));
};

TEST_F(DoorTest, AnswersARequestOfUpToItsLimit) {
  const Served door = MakeDoor();
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, kDoorRequestBytesMax}) {
    const auto reply = AskDoor(Query(door), pin_, std::string(size, 'x'));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->body, absl::StrCat("heard ", size, " bytes"));
  }
  EXPECT_TRUE(absl::IsUnavailable(AskDoor(Query(door), pin_, std::string(kDoorRequestBytesMax + 1, 'x')).status()));
}

// Told apart by the first byte alone: what TLS sends after its hello begins with others.
TEST_F(DoorTest, WhoSpeaksInPlainIsAnsweredInPlainWhereThatIsWanted) {
  OneShotPorts ports = DoorPorts([this] { return openssl::UniqueSsl(SSL_new(context_.get())); },
                                 [](absl::string_view, const std::string&) { return std::string("in secret"); });
  ports.answer_plain = [](absl::string_view, const OneShotPeer&) { return std::string("in plain"); };
  const Served door(DoorOptions(), std::move(ports));
  for (int i = 0; i < 20; ++i) {
    const auto reply = AskDoor(Query(door), pin_, "x");
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->body, "in secret");
  }
  const Dialled plain(door.port());
  plain.Send(Frame("x"));
  EXPECT_EQ(plain.Drain(), "in plain");
}

TEST_F(DoorTest, SpeaksNothingButItsProtocol) {
  const Served door = MakeDoor();
  for (const char* protocol : {"h2", "http/1.1"}) {
    const auto context = *NewClientContext();
    TcpStream tcp({"127.0.0.1", door.port()}, {});
    ASSERT_TRUE(tcp.Open().ok());
    auto tls = *TlsStream::Make(context.get(), tcp, "127.0.0.1", protocol);
    EXPECT_THAT(std::string(tls.Shake().message()), ::testing::HasSubstr("no application protocol"));
  }
}

TEST_F(DoorTest, GarbageAndHalfHandshakesEndAndOthersAreServed) {
  OneShotOptions options = DoorOptions();
  options.time_ms = 300;
  const Served door = MakeDoor(options);
  const Dialled garbage(door.port());
  garbage.Send(std::string(1000, '\xff'));
  EXPECT_TRUE(garbage.IsHungUpOn());
  const Dialled half(door.port());
  half.Send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));
  EXPECT_TRUE(AskDoor(Query(door), pin_, "x").ok());
  EXPECT_TRUE(half.IsHungUpOn());
}

TEST_F(DoorTest, AKeyOfAnotherCertificateIsNoContext) {
  EXPECT_TRUE(absl::IsInvalidArgument(NewDoorContext(server_.ToPem(), Pem(Key())).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(NewDoorContext("", "").status()));
}

}  // namespace
}  // namespace paritect
