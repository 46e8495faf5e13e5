#include "common/pki/fetch_authority.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

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
  explicit Server(std::function<void(int)> serve) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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
  FetchQuery Query() const { return {{"127.0.0.1", port_}, kNow, 5000, true}; }

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

int ChooseH2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
  static const unsigned char kH2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, kH2, sizeof(kH2), in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// A TLS server that shows `chain` and refuses who does not offer h2.
std::function<void(int)> Tls(const std::vector<Certificate>& chain, const KeyPair& key, int version = TLS1_3_VERSION) {
  return [chain, key, version](int fd) {
    const openssl::UniqueSslContext context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_set_max_proto_version(context.get(), version);
    SSL_CTX_set_alpn_select_cb(context.get(), ChooseH2, nullptr);
    SSL_CTX_use_certificate(context.get(), chain.front().get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context.get(), chain[i].get());
    const openssl::UniqueSsl ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), fd);
    SSL_accept(ssl.get());
    openssl::TakeError();
    Drain(fd);
  };
}

class FetchTest : public testing::Test {
 protected:
  const Authority authority_ = NewAuthority();
  const KeyPair key_ = Key();
  const Certificate server_ = ServerOf(authority_, key_, {"localhost", "127.0.0.1"});
  const CaPin pin_ = CaPin::Of(authority_.certificate());
};

TEST_F(FetchTest, GetsThePinnedAuthority) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Server server(Tls({server_, authority_.certificate()}, key_, version));
    const auto fetched = FetchAuthority(server.Query(), pin_);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(fetched->ToPem(), authority_.certificate().ToPem());
  }
}

TEST_F(FetchTest, FindsTheHostByName) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  FetchQuery query = server.Query();
  query.server.host = "localhost";
  const auto fetched = FetchAuthority(query, pin_);
  EXPECT_TRUE(fetched.ok()) << fetched.status();
}

TEST_F(FetchTest, RefusesTheWrongPin) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  const auto fetched = FetchAuthority(server.Query(), CaPin::Of(NewAuthority().certificate()));
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("in between"));
}

TEST_F(FetchTest, RefusesAnExpiredServer) {
  const Server server(Tls({server_, authority_.certificate()}, key_));
  FetchQuery query = server.Query();
  query.now = kNow + kDaySeconds + 1;
  const auto fetched = FetchAuthority(query, pin_);
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("expired"));
}

// Anyone can send the right authority along.
TEST_F(FetchTest, RefusesALeafThatTheAuthorityDidNotSign) {
  const Server server(Tls({ServerOf(NewAuthority(), key_, {"127.0.0.1"}), authority_.certificate()}, key_));
  EXPECT_EQ(FetchAuthority(server.Query(), pin_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(FetchTest, RefusesAnAgentThatPlaysServer) {
  const Server server(Tls({ClientOf(authority_, key_, {Role::kAgent, "127.0.0.1"}), authority_.certificate()}, key_));
  EXPECT_EQ(FetchAuthority(server.Query(), pin_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(FetchTest, ChecksTheHostUnlessToldNotTo) {
  const std::vector<Certificate> chain = {ServerOf(authority_, key_, {"elsewhere"}), authority_.certificate()};
  {
    const Server server(Tls(chain, key_));
    EXPECT_THAT(std::string(FetchAuthority(server.Query(), pin_).status().message()), HasSubstr("but for elsewhere"));
  }
  const Server server(Tls(chain, key_));
  FetchQuery query = server.Query();
  query.check_host = false;
  EXPECT_TRUE(FetchAuthority(query, pin_).ok());
}

TEST_F(FetchTest, RefusesOldTls) {
  const Server server(Tls({server_, authority_.certificate()}, key_, TLS1_1_VERSION));
  EXPECT_EQ(FetchAuthority(server.Query(), pin_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FetchTest, GivesUpOnSilence) {
  const Server server(Drain);
  FetchQuery query = server.Query();
  query.timeout_ms = 200;
  const auto fetched = FetchAuthority(query, pin_);
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("200 ms"));
}

// A byte now and then is no progress.
TEST_F(FetchTest, GivesUpOnADrip) {
  const Server server([](int fd) {
    // The head of a handshake record of 16000 bytes, then its bytes one by one.
    const char head[] = {0x16, 3, 3, 0x3e, static_cast<char>(0x80), 2, 0, 0x3e, 0x7c};
    send(fd, head, sizeof(head), MSG_NOSIGNAL);
    for (int i = 0; i < 200 && send(fd, "", 1, MSG_NOSIGNAL) == 1; ++i) usleep(20'000);
  });
  FetchQuery query = server.Query();
  query.timeout_ms = 300;
  EXPECT_FALSE(FetchAuthority(query, pin_).ok());
}

TEST_F(FetchTest, SaysWhenItIsNoTls) {
  const Server server([](int fd) {
    send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
    Drain(fd);
  });
  const auto fetched = FetchAuthority(server.Query(), pin_);
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(fetched.status().message()), HasSubstr("TLS handshake failed"));
}

TEST_F(FetchTest, SurvivesGarbageAndHangingUp) {
  {
    const Server server([](int fd) { send(fd, std::string(100'000, '\x16').data(), 100'000, MSG_NOSIGNAL); });
    EXPECT_EQ(FetchAuthority(server.Query(), pin_).status().code(), absl::StatusCode::kUnavailable);
  }
  const Server server([](int) {});
  const auto fetched = FetchAuthority(server.Query(), pin_);
  EXPECT_EQ(fetched.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FetchTest, SaysWhenNobodyListens) {
  int port = 0;
  {
    const Server server([](int) {});
    port = server.Query().server.port;
    EXPECT_FALSE(FetchAuthority(server.Query(), pin_).ok());
  }
  const auto refused = FetchAuthority({{"127.0.0.1", port}, kNow, 1000, true}, pin_);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("refused"));
  EXPECT_EQ(FetchAuthority({{"no-such-host.invalid", 1}, kNow, 1000, true}, pin_).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace paritect
