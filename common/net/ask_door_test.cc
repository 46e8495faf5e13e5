#include "common/net/ask_door.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <thread>

#include "common/net/door_protocol.h"
#include "common/net/testing.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

// Accepts one connection on loopback in a thread and hands it to `serve`.
class Server {
 public:
  // `port` 0: any that is free.
  explicit Server(std::function<void(int)> serve, int port = 0) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      // This side may write to who has hung up; the client under test must not need such help.
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      pollfd waited = {listener_, POLLIN, 0};
      if (poll(&waited, 1, 10'000) != 1) return;
      const int fd = accept(listener_, nullptr, nullptr);
      serve(fd);
      close(fd);
    });
  }
  ~Server() {
    thread_.join();
    close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  DoorQuery Query() const { return {{"127.0.0.1", port_}, kNow, 5000, true}; }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

// Until the client hangs up, or ten seconds.
void Drain(int fd) {
  char buffer[4096];
  pollfd waited = {fd, POLLIN, 0};
  while (poll(&waited, 1, 10'000) == 1 && recv(fd, buffer, sizeof(buffer), 0) > 0) {
  }
}

int ChooseDoor(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
  static const std::string own = absl::StrCat(std::string(1, static_cast<char>(kDoorProtocol.size())), kDoorProtocol);
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(own.data()),
                                          static_cast<unsigned>(own.size()), in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

constexpr absl::string_view kBody = "the answer";

// A door that shows `chain`, refuses who does not offer its protocol, and answers whatever it is asked with `reply`.
std::function<void(int)> Tls(const std::vector<Certificate>& chain, const KeyPair& key, int version = TLS1_3_VERSION,
                             const std::string& reply = Frame(kBody)) {
  return [chain, key, version, reply](int fd) {
    const openssl::UniqueSslContext context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_set_max_proto_version(context.get(), version);
    SSL_CTX_set_alpn_select_cb(context.get(), ChooseDoor, nullptr);
    SSL_CTX_use_certificate(context.get(), chain.front().get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context.get(), chain[i].get());
    const openssl::UniqueSsl ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), fd);
    char asked[16];
    if (SSL_accept(ssl.get()) == 1 && SSL_read(ssl.get(), asked, sizeof(asked)) > 0) {
      SSL_write(ssl.get(), reply.data(), static_cast<int>(reply.size()));
    }
    openssl::TakeError();
    Drain(fd);
  };
}

class AskDoorTest : public testing::Test {
 protected:
  const Authority authority_ = NewAuthority();
  const KeyPair key_ = Key();
  const Certificate server_ = ServerOf(authority_, key_, {"localhost", "127.0.0.1"});
  const CaPin pin_ = CaPin::Of(authority_.certificate());
};

TEST_F(AskDoorTest, GetsThePinnedAuthority) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Server server(Tls({server_, authority_.certificate()}, key_, version));
    const auto fetched = AskDoor(server.Query(), pin_, "x");
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(fetched->authority.ToPem(), authority_.certificate().ToPem());
    EXPECT_EQ(fetched->body, kBody);
  }
}

TEST_F(AskDoorTest, FindsTheHostByName) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  DoorQuery query = server.Query();
  query.server.host = "localhost";
  const auto fetched = AskDoor(query, pin_, "x");
  EXPECT_TRUE(fetched.ok()) << fetched.status();
}

TEST_F(AskDoorTest, RefusesTheWrongPin) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  const auto fetched = AskDoor(server.Query(), CaPin::Of(NewAuthority().certificate()), "x");
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("in between"));
}

TEST_F(AskDoorTest, RefusesAnExpiredServer) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  DoorQuery query = server.Query();
  query.now = kNow + kDaySeconds + 1;
  const auto fetched = AskDoor(query, pin_, "x");
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("expired"));
}

// Anyone can send the right authority along.
TEST_F(AskDoorTest, RefusesALeafThatTheAuthorityDidNotSign) {
  const Server server(Tls({ServerOf(NewAuthority(), key_, {"127.0.0.1"}), authority_.certificate()}, key_));
  EXPECT_EQ(AskDoor(server.Query(), pin_, "x").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(AskDoorTest, RefusesAnAgentThatPlaysServer) {
  const Server server(Tls({ClientOf(authority_, key_, {Role::kAgent, "127.0.0.1"}), authority_.certificate()}, key_));
  EXPECT_EQ(AskDoor(server.Query(), pin_, "x").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(AskDoorTest, ChecksTheHostUnlessToldNotTo) {
  const std::vector<Certificate> chain = {ServerOf(authority_, key_, {"elsewhere"}), authority_.certificate()};
  {
    const Server server(Tls(chain, key_));
    EXPECT_THAT(std::string(AskDoor(server.Query(), pin_, "x").status().message()), HasSubstr("but for elsewhere"));
  }
  const Server server(Tls(chain, key_));
  DoorQuery query = server.Query();
  query.check_host = false;
  EXPECT_TRUE(AskDoor(query, pin_, "x").ok());
}

// A server of a version without a door shows the right authority all the same.
TEST_F(AskDoorTest, SaysWhenThereIsNoDoor) {
  const Server server([this](int fd) {
    const openssl::UniqueSslContext context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context.get(), server_.get());
    SSL_CTX_use_PrivateKey(context.get(), key_.get());
    SSL_CTX_add1_chain_cert(context.get(), authority_.certificate().get());
    const openssl::UniqueSsl ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), fd);
    SSL_accept(ssl.get());
    openssl::TakeError();
    Drain(fd);
  });
  EXPECT_THAT(std::string(AskDoor(server.Query(), pin_, "x").status().message()), HasSubstr("update the older"));
}

TEST_F(AskDoorTest, AnswersAreBounded) {
  const std::vector<Certificate> chain = {server_, authority_.certificate()};
  for (const std::string& reply : {std::string("\xff\xff\xff\xff", 4), Frame("one") + "more"}) {
    const Server server(Tls(chain, key_, TLS1_3_VERSION, reply));
    const auto asked = AskDoor(server.Query(), pin_, "x");
    EXPECT_EQ(asked.status().code(), absl::StatusCode::kUnavailable) << asked.status();
  }
  const Server server(Tls(chain, key_, TLS1_3_VERSION, Frame("one").substr(0, 5)));
  DoorQuery query = server.Query();
  query.timeout_ms = 300;
  EXPECT_EQ(AskDoor(query, pin_, "x").status().code(), absl::StatusCode::kDeadlineExceeded) << "a part, then silence";
}

TEST_F(AskDoorTest, RefusalsComeInTheServersWords) {
  v1::DoorAnswer answer;
  EXPECT_EQ(ReadDoorAnswer(answer.SerializeAsString()).status().code(), absl::StatusCode::kInternal);
  answer.set_code(static_cast<int>(absl::StatusCode::kPermissionDenied));
  answer.set_message("used already");
  EXPECT_EQ(ReadDoorAnswer(answer.SerializeAsString()).status(), absl::PermissionDeniedError("used already"));
  answer.set_code(4711);
  EXPECT_EQ(ReadDoorAnswer(answer.SerializeAsString()).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ReadDoorAnswer("\xff\xff").status().code(), absl::StatusCode::kInternal);
  answer.Clear();
  answer.mutable_joined()->set_name("gpu-01");
  EXPECT_EQ(ReadDoorAnswer(answer.SerializeAsString())->name(), "gpu-01");
}

TEST_F(AskDoorTest, RefusesOldTls) {
  const Server server(Tls({server_, authority_.certificate()}, key_, TLS1_1_VERSION));
  EXPECT_EQ(AskDoor(server.Query(), pin_, "x").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(AskDoorTest, GivesUpOnSilence) {
  const Server server(Drain);
  DoorQuery query = server.Query();
  query.timeout_ms = 200;
  const auto fetched = AskDoor(query, pin_, "x");
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("200 ms"));
}

// A byte now and then is no progress.
TEST_F(AskDoorTest, GivesUpOnADrip) {
  const Server server([](int fd) {
    // The head of a handshake record of 16000 bytes, then its bytes one by one.
    const char head[] = {0x16, 3, 3, 0x3e, static_cast<char>(0x80), 2, 0, 0x3e, 0x7c};
    send(fd, head, sizeof(head), MSG_NOSIGNAL);
    for (int i = 0; i < 200 && send(fd, "", 1, MSG_NOSIGNAL) == 1; ++i) usleep(20'000);
  });
  DoorQuery query = server.Query();
  query.timeout_ms = 300;
  EXPECT_EQ(AskDoor(query, pin_, "x").status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(AskDoorTest, SaysWhenItIsNoTls) {
  const Server server([](int fd) {
    send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
    Drain(fd);
  });
  const auto fetched = AskDoor(server.Query(), pin_, "x");
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("TLS handshake failed"));
}

TEST_F(AskDoorTest, SurvivesGarbageAndHangingUp) {
  {
    const Server server([](int fd) { send(fd, std::string(100'000, '\x16').data(), 100'000, MSG_NOSIGNAL); });
    EXPECT_EQ(AskDoor(server.Query(), pin_, "x").status().code(), absl::StatusCode::kUnavailable);
  }
  const Server server([](int) {});
  const auto fetched = AskDoor(server.Query(), pin_, "x");
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kUnavailable);
}

// The port's owner comes after the first attempt was refused.
TEST_F(AskDoorTest, JoiningWaitsForAServerThatStarts) {
  v1::DoorAnswer answer;
  answer.mutable_joined()->set_name("gpu-01");
  const auto door = Tls({server_, authority_.certificate()}, key_, TLS1_3_VERSION, Frame(answer.SerializeAsString()));
  const int port = net_testing::ListeningSocket().port();  // free again by now
  DoorQuery query = {.server = {"127.0.0.1", port}, .now = kNow, .timeout_ms = 5000};
  std::optional<Server> started;
  query.waiting = [&](const std::string& text) {
    EXPECT_THAT(text, HasSubstr("refused; trying for 5 s, as the server may be starting"));
    started.emplace(door, port);
  };
  const auto joined = AskToJoin(query, pin_, v1::JoinRequest());
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->response.name(), "gpu-01");
  EXPECT_TRUE(started.has_value());
}

// A token is spent by who is asked: only what never reached anybody is asked again.
TEST_F(AskDoorTest, WhatReachedSomebodyIsNotAskedAgain) {
  const Server server([](int) {});
  DoorQuery query = server.Query();
  query.waiting = [](const std::string& text) { ADD_FAILURE() << text; };
  EXPECT_EQ(AskToJoin(query, pin_, v1::JoinRequest()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(AskDoorTest, SaysWhenNobodyListens) {
  int port = 0;
  {
    const Server server([](int) {});
    port = server.Query().server.port;
    EXPECT_EQ(AskDoor(server.Query(), pin_, "x").status().code(), absl::StatusCode::kUnavailable);
  }
  const auto refused = AskDoor({{"127.0.0.1", port}, kNow, 1000, true}, pin_, "x");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("refused"));
  EXPECT_EQ(AskDoor({{"no-such-host.invalid", 1}, kNow, 1000, true}, pin_, "x").status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace paritect
