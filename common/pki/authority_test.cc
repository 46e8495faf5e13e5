#include "common/pki/authority.h"

#include <openssl/pem.h>

#include <set>

#include "absl/strings/str_replace.h"
#include "common/pki/openssl.h"
#include "common/pki/peer.h"
#include "common/pki/pin.h"
#include "common/pki/secret_file.h"
#include "common/pki/testing.h"
#include "common/status_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(KeyPair, GoesThroughPem) {
  const KeyPair key = Key();
  EXPECT_EQ(openssl::DescribeKey(key.get()), "P-256");
  EXPECT_THAT(Pem(key), testing::StartsWith("-----BEGIN PRIVATE KEY-----\n"));
  const auto again = KeyPair::FromPem(Pem(key));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Pem(*again), Pem(key));
}

TEST(KeyPair, TakesCrlfAndTextAround) {
  const std::string pem = Pem(Key());
  EXPECT_TRUE(KeyPair::FromPem(absl::StrReplaceAll(pem, {{"\n", "\r\n"}})).ok());
  EXPECT_TRUE(KeyPair::FromPem("Bag Attributes\n  key: x\n" + pem + "\ntrailing").ok());
}

TEST(KeyPair, RefusesWhatIsNoKey) {
  for (const std::string& text : {std::string(), std::string("junk"), Pem(Key()).substr(0, 80),
                                  std::string(2 << 20, 'a'), std::string(1000, '\0')}) {
    EXPECT_EQ(KeyPair::FromPem(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(KeyPair, AsksNobodyForAPassphrase) {
  const KeyPair key = Key();
  const openssl::UniqueBio bio = openssl::WriteBio();
  char passphrase[] = "secret";
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), passphrase, 6, nullptr, nullptr);
  const auto read = KeyPair::FromPem(openssl::BioText(bio.get()));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("encrypted"));
}

TEST(KeyPair, RefusesWeakKeys) {
  EXPECT_THAT(std::string(KeyPair::FromPem(RsaPem(1024)).status().message()), HasSubstr("RSA 1024"));
  EXPECT_THAT(std::string(KeyPair::FromPem(CurvePem("secp224r1")).status().message()), HasSubstr("P-224"));
  EXPECT_EQ(CodeOf(KeyPair::FromPem(CurvePem("secp256k1"))), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(KeyPair::FromPem(RsaPem(2048)).ok());
  EXPECT_TRUE(KeyPair::FromPem(CurvePem("secp384r1")).ok());
}

TEST(Authority, IsAnAuthorityForTenYears) {
  const Authority authority = NewAuthority();
  const Certificate& certificate = authority.certificate();
  EXPECT_TRUE(certificate.IsAuthority());
  EXPECT_TRUE(certificate.IsSignedBy(certificate));
  EXPECT_THAT(certificate.CommonName(), testing::ContainsRegex("^Paritect CA [0-9a-f]{16}$"));
  EXPECT_EQ(X509_get_pathlen(certificate.get()), 0);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), static_cast<unsigned>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_NE(X509_get0_subject_key_id(certificate.get()), nullptr);
  EXPECT_EQ(certificate.NotAfter() - kNow, kAuthorityLifetimeSeconds);
  EXPECT_EQ(X509_get_version(certificate.get()), X509_VERSION_3);
}

TEST(Authority, GoesThroughPem) {
  const Authority authority = NewAuthority();
  const std::string pem = authority.certificate().ToPem();
  EXPECT_TRUE(Authority::FromPem(pem, Pem(authority.key()), kNow).ok());
  EXPECT_THAT(std::string(Authority::FromPem(pem, Pem(Key()), kNow).status().message()), HasSubstr("does not belong"));
  EXPECT_EQ(Authority::FromPem(pem, Pem(authority.key()), kNow + kAuthorityLifetimeSeconds + 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Authority::FromPem(pem, Pem(authority.key()), kNow - 2 * kDaySeconds).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const KeyPair key = Key();
  const Certificate leaf = ClientOf(authority, key, {Role::kAgent, "a"});
  EXPECT_THAT(std::string(Authority::FromPem(leaf.ToPem(), Pem(key), kNow).status().message()),
              HasSubstr("not an authority"));
}

TEST(Authority, StampsTheIdentityAndNotTheWish) {
  const Authority authority = NewAuthority();
  const KeyPair key = Key();
  const Certificate certificate = ClientOf(authority, key, {Role::kAgent, "gpu-01"});
  EXPECT_EQ(openssl::CommonName(X509_REQ_get_subject_name(Request(key).get())), "wish");
  EXPECT_EQ(certificate.CommonName(), "gpu-01");
  EXPECT_THAT(certificate.Names().uri, ElementsAre("paritect://agent/gpu-01"));
  EXPECT_TRUE(certificate.Names().dns.empty());
  EXPECT_TRUE(certificate.Fits(key));
  EXPECT_FALSE(certificate.IsAuthority());
  EXPECT_EQ(certificate.NotBefore(), kNow - 300);
  EXPECT_EQ(certificate.NotAfter(), kNow + kDaySeconds);
  EXPECT_EQ(X509_get_extended_key_usage(certificate.get()), static_cast<unsigned>(XKU_SSL_CLIENT));
  EXPECT_TRUE(certificate.IsSignedBy(authority.certificate()));
  EXPECT_FALSE(certificate.IsSignedBy(NewAuthority().certificate()));
}

TEST(Authority, LongNamesKeepTheirIdentity) {
  const std::string name(253, 'n');
  const Certificate certificate = ClientOf(NewAuthority(), Key(), {Role::kViewer, name});
  EXPECT_EQ(certificate.CommonName().size(), 64u);
  EXPECT_EQ(StampedIdentity(certificate)->name, name);
}

TEST(Authority, RefusesBadNamesAndLifetimes) {
  const Authority authority = NewAuthority();
  const CertificateRequest request = Request(Key());
  EXPECT_EQ(CodeOf(authority.SignClient(request, {Role::kAgent, "a,URI:paritect://admin/x"}, kDaySeconds, kNow)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(authority.SignClient(request, {Role::kAgent, "a"}, 59, kNow)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(authority.SignClient(request, {Role::kAgent, "a"}, -kDaySeconds, kNow)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(authority.SignClient(request, {Role::kAgent, "a"}, INT64_MAX, kNow)),
            absl::StatusCode::kInvalidArgument);
}

TEST(Authority, OutlivesNothingItSigns) {
  const Authority authority = NewAuthority();
  const std::int64_t end = authority.certificate().NotAfter();
  const auto certificate = authority.SignClient(Request(Key()), {Role::kAgent, "a"}, kDaySeconds, end - 3600);
  ASSERT_TRUE(certificate.ok());
  EXPECT_EQ(certificate->NotAfter(), end);
  EXPECT_EQ(authority.SignClient(Request(Key()), {Role::kAgent, "a"}, kDaySeconds, end + 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Authority, SerialsAreRandom) {
  const Authority authority = NewAuthority();
  const KeyPair key = Key();
  std::set<std::string> serials;
  for (int i = 0; i < 50; ++i) {
    const std::string serial = ClientOf(authority, key, {Role::kAgent, "a"}).SerialHex();
    EXPECT_GE(serial.size(), 24u);  // fewer than 96 bits happen once in 2^32
    EXPECT_LE(serial.size(), 32u);
    EXPECT_TRUE(serials.insert(serial).second);
  }
}

TEST(Authority, SignsServersForTheirHosts) {
  const Authority authority = NewAuthority();
  const std::vector<std::string> hosts = ServerHosts({"audit.example.com", "10.0.0.1", "[fe80::1]"}, "box");
  EXPECT_THAT(hosts, ElementsAre("audit.example.com", "10.0.0.1", "fe80::1", "localhost", "box", "127.0.0.1", "::1"));
  const Certificate certificate = ServerOf(authority, Key(), hosts);
  EXPECT_THAT(certificate.Names().dns, ElementsAre("audit.example.com", "localhost", "box"));
  EXPECT_THAT(certificate.Names().ip, ElementsAre("10.0.0.1", "fe80::1", "127.0.0.1", "::1"));
  EXPECT_EQ(X509_get_extended_key_usage(certificate.get()), static_cast<unsigned>(XKU_SSL_SERVER));
  EXPECT_EQ(CodeOf(StampedIdentity(certificate)), absl::StatusCode::kUnauthenticated);
}

TEST(Authority, ServerHostsTakeNothingTwiceAndNoBadHostName) {
  EXPECT_THAT(ServerHosts({"localhost", "::1"}, "not a name"), ElementsAre("localhost", "::1", "127.0.0.1"));
}

TEST(Authority, RefusesBadHosts) {
  const Authority authority = NewAuthority();
  const CertificateRequest request = Request(Key());
  EXPECT_EQ(CodeOf(authority.SignServer(request, {}, kDaySeconds, kNow)), absl::StatusCode::kInvalidArgument);
  for (const char* host : {"", "a b", "a,DNS:b", "-a", "a..b", "*", "*.local", "http://x", "a:1", "a\n", "1.2.3.4/8"}) {
    EXPECT_EQ(CodeOf(authority.SignServer(request, {host}, kDaySeconds, kNow)), absl::StatusCode::kInvalidArgument)
        << host;
  }
  EXPECT_TRUE(authority.SignServer(request, {"*.example.com"}, kDaySeconds, kNow).ok());
}

TEST(Authority, WorksWithRsaKeys) {
  const KeyPair key = *KeyPair::FromPem(RsaPem(2048));
  const Certificate certificate = ClientOf(NewAuthority(), key, {Role::kAgent, "rsa"});
  EXPECT_TRUE(certificate.Fits(key));
}

// The openssl command is another reader of the same rules.
TEST(Authority, OpensslAcceptsItsChains) {
  if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl command";
  const Folder folder;
  const Authority authority = NewAuthority();
  const KeyPair key = Key();
  ASSERT_TRUE(WriteFileDurably(folder / "ca.pem", authority.certificate().ToPem(), kPublicMode).ok());
  ASSERT_TRUE(
      WriteFileDurably(folder / "client.pem", ClientOf(authority, key, {Role::kAgent, "a"}).ToPem(), kPublicMode).ok());
  ASSERT_TRUE(
      WriteFileDurably(folder / "server.pem", ServerOf(authority, key, {"a.example.com", "::1"}).ToPem(), kPublicMode)
          .ok());
  const auto verify = [&](absl::string_view options, absl::string_view file) {
    return std::system(absl::StrCat("openssl verify -x509_strict -attime ", kNow, " -CAfile '", folder / "ca.pem", "' ",
                                    options, " '", folder / std::string(file), "' > /dev/null 2>&1")
                           .c_str());
  };
  EXPECT_EQ(verify("-purpose sslclient", "client.pem"), 0);
  EXPECT_EQ(verify("-purpose sslserver -verify_hostname a.example.com -verify_ip ::1", "server.pem"), 0);
  EXPECT_NE(verify("-purpose sslserver", "client.pem"), 0);
  EXPECT_NE(verify("-purpose sslclient", "server.pem"), 0);
  EXPECT_NE(verify("-purpose sslserver -verify_hostname b.example.com", "server.pem"), 0);
  EXPECT_EQ(verify("", "ca.pem"), 0);
}

}  // namespace
}  // namespace paritect
