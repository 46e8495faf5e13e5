// What init and enrolment make, in a real handshake with certificates on both sides.
#include <openssl/pem.h>

#include <thread>

#include "common/pki/server_folder.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)

// A TLS end with these PEM texts that demands a certificate of the other at the time `now`.
openssl::UniqueSslContext End(const SSL_METHOD* method, const std::string& chain_pem, const std::string& key_pem,
                              const std::string& authorities_pem, std::int64_t now) {
  openssl::UniqueSslContext context(SSL_CTX_new(method));
  const std::vector<Certificate> chain = *Certificate::ListFromPem(chain_pem);
  SSL_CTX_use_certificate(context.get(), chain.front().get());
  for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context.get(), chain[i].get());
  SSL_CTX_use_PrivateKey(context.get(), KeyPair::FromPem(key_pem)->get());
  const std::vector<Certificate> authorities = *Certificate::ListFromPem(authorities_pem);
  for (const Certificate& authority : authorities) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.get());
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context.get()), now);
  return context;
}

// Who the server sees; an error where either end refuses.
absl::StatusOr<Peer> Shake(const ServerFolder& folder, const Credential& credential, std::int64_t now) {
  const auto server_context = End(TLS_server_method(), folder.chain_pem, folder.key_pem, folder.authorities_pem, now);
  const auto client_context =
      End(TLS_client_method(), credential.certificate_pem, credential.key_pem, credential.authority_pem, now);
  const openssl::UniqueSsl server(SSL_new(server_context.get())), client(SSL_new(client_context.get()));
  BIO* server_bio = nullptr;
  BIO* client_bio = nullptr;
  BIO_new_bio_pair(&server_bio, 1 << 16, &client_bio, 1 << 16);
  SSL_set_bio(server.get(), server_bio, server_bio);
  SSL_set_bio(client.get(), client_bio, client_bio);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  SSL_set1_host(client.get(), "audit.example.com");
  int client_done = 0, server_done = 0;
  for (int i = 0; i < 20 && (client_done != 1 || server_done != 1); ++i) {
    client_done = SSL_do_handshake(client.get());
    server_done = SSL_do_handshake(server.get());
  }
  openssl::TakeError();
  if (client_done != 1) return absl::UnauthenticatedError("the client refuses the server");
  if (server_done != 1) return absl::UnauthenticatedError("the server refuses the client");
  return ParsePeer(Certificate::Share(SSL_get0_peer_certificate(server.get())).ToPem(), folder.policy());
}

class MutualTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    InitOptions options;
    options.hosts = {"audit.example.com"};
    options.address = "audit.example.com:7400";
    options.now = kNow;
    ASSERT_TRUE(InitServerFolder(temporary_ / "server", options).ok());
  }
  ServerFolder Server() { return *LoadServerFolder(temporary_ / "server", kNow); }
  Credential Issue(const Identity& identity) {
    return *IssueCredential(*Server().enroller, identity, {"audit.example.com:7400"}, kDaySeconds, kNow);
  }
  const Folder temporary_;
};

TEST_F(MutualTlsTest, TheAdminOfInitGetsIn) {
  const auto admin = LoadCredential(temporary_ / "server/admin.credential", kNow);
  ASSERT_TRUE(admin.ok()) << admin.status();
  const auto peer = Shake(Server(), admin->credential, kNow);
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->identity, (Identity{Role::kAdmin, "admin"}));
}

TEST_F(MutualTlsTest, AnEnrolledNodeGetsInUntilItsCertificateExpires) {
  const Credential node = Issue({Role::kAgent, "gpu-01"});
  const auto peer = Shake(Server(), node, kNow + kDaySeconds - 1);
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->identity, (Identity{Role::kAgent, "gpu-01"}));
  EXPECT_EQ(Shake(Server(), node, kNow + kDaySeconds + 1).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(MutualTlsTest, ACredentialOfAnotherServerDoesNot) {
  Credential foreign = *IssueCredential(NewAuthority(), {Role::kAdmin, "admin"}, {"a:1"}, kDaySeconds, kNow);
  EXPECT_EQ(Shake(Server(), foreign, kNow).status().message(), "the client refuses the server");
  foreign.authority_pem = Server().authorities_pem;
  EXPECT_EQ(Shake(Server(), foreign, kNow).status().code(), absl::StatusCode::kUnauthenticated);
}

// A server signs for many nodes at a time.
TEST_F(MutualTlsTest, OneAuthoritySignsInManyThreads) {
  const ServerFolder server = Server();
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&server, &good, t] {
      for (int i = 0; i < 25; ++i) {
        const Identity identity = {Role::kAgent, absl::StrCat("node-", t, "-", i)};
        const auto credential = IssueCredential(*server.enroller, identity, {"a:1"}, kDaySeconds, kNow);
        if (credential.ok() && ParsePeer(credential->certificate_pem)->identity == identity) ++good[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(good, testing::Each(25));
}

}  // namespace
}  // namespace paritect
