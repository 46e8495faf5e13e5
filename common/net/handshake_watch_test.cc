#include "common/net/handshake_watch.h"

#include <ctime>
#include <utility>
#include <vector>

#include "common/net/client_hello.h"
#include "common/net/door_session.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class HandshakeWatchTest : public testing::Test {
 protected:
  HandshakeWatchTest() {
    const KeyPair key = Key();
    const Certificate own = ServerOf(authority_, key, {"localhost"}, now_);
    context_ = *NewPageContext(own.ToPem(), Pem(key), authority_.certificate().ToPem());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    client_.reset(SSL_CTX_new(TLS_client_method()));
  }

  void Show(const Certificate& certificate, const KeyPair& key) {
    SSL_CTX_use_certificate(client_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(client_.get(), key.get());
  }

  // One handshake; `watched`: the listener saw its first message.
  void Shake(bool watched = true) {
    const openssl::UniqueSsl server(SSL_new(context_.get())), client(SSL_new(client_.get()));
    BIO* const up = openssl::WriteBio().release();
    BIO* const down = openssl::WriteBio().release();
    BIO_up_ref(up);
    BIO_up_ref(down);
    SSL_set_bio(server.get(), up, down);
    SSL_set_bio(client.get(), down, up);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    SSL_do_handshake(client.get());
    const PeekedHello hello = PeekHello(openssl::BioText(up));
    EXPECT_EQ(hello.random.size(), 32u);
    if (watched) watch_->Expect(hello.random, "192.0.2.7");
    for (int i = 0; i < 6; ++i) {
      if (SSL_do_handshake(server.get()) != 1) openssl::TakeError();
      if (SSL_do_handshake(client.get()) != 1) openssl::TakeError();
    }
  }

  const std::int64_t now_ = time(nullptr);
  const Authority authority_ = NewAuthority(now_ - 10 * kDaySeconds);
  std::vector<std::pair<std::string, std::string>> told_;
  std::unique_ptr<HandshakeWatch> watch_ = std::make_unique<HandshakeWatch>(
      [this](const std::string& address, const std::string& why) { told_.emplace_back(address, why); });
  openssl::UniqueSslContext context_, client_;
};

TEST_F(HandshakeWatchTest, SaysWhoseCertificateWasRefusedAndWhy) {
  const KeyPair key = Key();
  Show(ClientOf(NewAuthority(now_), key, {Role::kAdmin, "mallory"}, now_), key);
  Shake();
  EXPECT_THAT(told_, ElementsAre(Pair("192.0.2.7", AllOf(HasSubstr("CN=mallory"), HasSubstr("issuer")))));
  EXPECT_TRUE(ToldOfHandshake());
  EXPECT_FALSE(ToldOfHandshake()) << "once";
}

TEST_F(HandshakeWatchTest, AnExpiredOneAndNoneAreReasons) {
  const KeyPair key = Key();
  Show(ClientOf(authority_, key, {Role::kAgent, "gpu-01"}, now_ - 3 * kDaySeconds), key);
  Shake();
  client_.reset(SSL_CTX_new(TLS_client_method()));
  Shake();
  EXPECT_THAT(told_, ElementsAre(Pair("192.0.2.7", HasSubstr("expired")),
                                 Pair("192.0.2.7", HasSubstr("did not return a certificate"))));
}

TEST_F(HandshakeWatchTest, SoIsACallerWhoRefusesTheServer) {
  SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
  Shake();
  EXPECT_THAT(told_, ElementsAre(Pair("192.0.2.7", HasSubstr("does not take this server's certificate: unknown CA"))));
}

TEST_F(HandshakeWatchTest, SaysNothingOfOthers) {
  Shake(/*watched=*/false);
  EXPECT_THAT(told_, IsEmpty());
  const KeyPair key = Key();
  Show(ClientOf(authority_, key, {Role::kAgent, "gpu-01"}, now_), key);
  Shake();
  EXPECT_THAT(told_, IsEmpty()) << "a good handshake";
  watch_.reset();
  client_.reset(SSL_CTX_new(TLS_client_method()));
  HandshakeWatch another([this](const std::string&, const std::string& why) { told_.emplace_back("", why); });
  watch_ = std::make_unique<HandshakeWatch>([](const std::string&, const std::string&) {});
  Shake();
  EXPECT_THAT(told_, IsEmpty()) << "of another watch";
}

}  // namespace
}  // namespace paritect
