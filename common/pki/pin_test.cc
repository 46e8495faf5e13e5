#include "common/pki/pin.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/pki/secret_file.h"
#include "common/pki/testing.h"
#include "common/status_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

class PinTest : public testing::Test {
 protected:
  std::vector<Certificate> Chain() const { return {server_, authority_.certificate()}; }
  static absl::Status Verify(const std::vector<Certificate>& chain, const Certificate& anchor, std::int64_t now,
                             const std::string& host, ChainQuery::Purpose purpose = ChainQuery::Purpose::kServer) {
    return VerifyChain(chain, anchor, {purpose, now, host});
  }

  const Authority authority_ = NewAuthority();
  const KeyPair key_ = Key();
  const Certificate server_ = ServerOf(authority_, key_, {"audit.example.com", "*.cluster.local", "10.0.0.1", "::1"});
  const CaPin pin_ = CaPin::Of(authority_.certificate());
};

TEST_F(PinTest, GoesThroughText) {
  const std::string text = pin_.ToString();
  EXPECT_THAT(text, testing::ContainsRegex("^sha256:[0-9a-f]{64}$"));
  for (const std::string& form : {text, absl::AsciiStrToUpper(text), absl::StrCat(" ", text, "\n")}) {
    const auto pin = CaPin::Parse(form);
    ASSERT_TRUE(pin.ok()) << pin.status();
    EXPECT_TRUE(pin->Matches(authority_.certificate()));
    EXPECT_FALSE(pin->Matches(NewAuthority().certificate()));
    EXPECT_FALSE(pin->Matches(server_));
  }
}

TEST_F(PinTest, RefusesWhatIsNone) {
  const std::string text = pin_.ToString();
  for (const std::string& bad :
       {std::string(), text.substr(7), text + "0", text.substr(0, text.size() - 1), "sha1:" + text.substr(7),
        "sha256:" + std::string(64, 'g'), std::string(1 << 20, 'a')}) {
    const auto pin = CaPin::Parse(bad);
    EXPECT_EQ(pin.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(pin.status().message().size(), 300u);
  }
}

TEST_F(PinTest, IsWhatOpensslComputes) {
  if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl command";
  const Folder folder;
  ASSERT_TRUE(WriteFileDurably(folder / "ca.pem", authority_.certificate().ToPem(), kPublicMode).ok());
  ASSERT_EQ(std::system(absl::StrCat("cd '", folder.path(),
                                     "' && openssl x509 -in ca.pem -pubkey -noout | openssl pkey -pubin -outform der "
                                     "| openssl dgst -sha256 -r > digest")
                            .c_str()),
            0);
  EXPECT_EQ(absl::StrCat("sha256:", ReadSecretFile(folder / "digest")->bytes.substr(0, 64)), pin_.ToString());
}

TEST_F(PinTest, FindsTheAuthorityInTheChain) {
  const auto found = VerifyPinnedChain(Chain(), pin_, {ChainQuery::Purpose::kServer, kNow, "audit.example.com"});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->ToDer(), authority_.certificate().ToDer());
  EXPECT_EQ(CodeOf(VerifyPinnedChain({}, pin_, {})), absl::StatusCode::kInvalidArgument);
}

TEST_F(PinTest, RefusesAnotherAuthority) {
  const CaPin other = CaPin::Of(NewAuthority().certificate());
  const auto found = VerifyPinnedChain(Chain(), other, {ChainQuery::Purpose::kServer, kNow, ""});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr(pin_.ToString()));
  EXPECT_EQ(VerifyPinnedChain({server_}, pin_, {}).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(VerifyPinnedChain({}, pin_, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

// Showing the right authority does not help who has no certificate of it.
TEST_F(PinTest, RefusesALeafOfAnother) {
  const Certificate foreign = ServerOf(NewAuthority(), key_, {"audit.example.com"});
  const auto found =
      VerifyPinnedChain({foreign, authority_.certificate()}, pin_, {ChainQuery::Purpose::kServer, kNow, ""});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("not signed by the authority"));
}

TEST_F(PinTest, RefusesAPinnedLeaf) {
  const auto found = VerifyPinnedChain(Chain(), CaPin::Of(server_), {ChainQuery::Purpose::kServer, kNow, ""});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kPermissionDenied);
}

// The authority's certificate, its end moved by ten years and signed by somebody else.
Certificate Rewritten(const Certificate& authority, const KeyPair& signer) {
  const openssl::UniqueX509 copy(X509_dup(authority.get()));
  ASN1_TIME_set(X509_getm_notAfter(copy.get()), authority.NotAfter() + kAuthorityLifetimeSeconds);
  X509_sign(copy.get(), signer.get(), EVP_sha256());
  return *Certificate::FromPem(Certificate::Share(copy.get()).ToPem());
}

TEST_F(PinTest, RefusesARewrittenAuthority) {
  const Certificate rewritten = Rewritten(authority_.certificate(), Key());
  ASSERT_TRUE(pin_.Matches(rewritten));
  EXPECT_EQ(CodeOf(VerifyPinnedChain({server_, rewritten}, pin_, {ChainQuery::Purpose::kServer, kNow, ""})),
            absl::StatusCode::kUnauthenticated);
}

TEST_F(PinTest, TakesTheGoodOneOfTwoWithTheSameKey) {
  const Certificate renewed = Rewritten(authority_.certificate(), authority_.key());
  const std::int64_t late = authority_.certificate().NotAfter() + kDaySeconds;
  const Authority again = *Authority::FromPem(renewed.ToPem(), Pem(authority_.key()), late);
  const Certificate server = ServerOf(again, key_, {"a"}, late);
  const ChainQuery query = {ChainQuery::Purpose::kServer, late, "a"};
  const auto found = VerifyPinnedChain({server, authority_.certificate(), renewed}, pin_, query);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->ToDer(), renewed.ToDer());
}

TEST_F(PinTest, ChecksDates) {
  EXPECT_TRUE(Verify(Chain(), authority_.certificate(), kNow + kDaySeconds - 1, "").ok());
  const absl::Status late = Verify(Chain(), authority_.certificate(), kNow + kDaySeconds + 1, "");
  EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.message()), HasSubstr("expired on 2026-09-22"));
  const absl::Status early = Verify(Chain(), authority_.certificate(), kNow - kServerSkewSeconds - 1, "");
  EXPECT_EQ(early.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(early.message()), HasSubstr("set the clock"));
}

TEST_F(PinTest, ChecksTheAnchorsDatesToo) {
  const std::int64_t end = authority_.certificate().NotAfter();
  const Certificate last = *authority_.SignServer(Request(key_), {"a"}, kDaySeconds, end - 10);
  EXPECT_EQ(last.NotAfter(), end);
  EXPECT_EQ(Verify({last}, authority_.certificate(), end + 1, "").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PinTest, ChecksHosts) {
  for (const char* host : {"audit.example.com", "AUDIT.example.com", "n1.cluster.local", "10.0.0.1", "::1", "0:0::1"}) {
    EXPECT_TRUE(Verify(Chain(), authority_.certificate(), kNow, host).ok()) << host;
  }
  for (const char* host :
       {"example.com", "a.b.cluster.local", "cluster.local", "10.0.0.2", "::2", "audit.example.com.evil"}) {
    const absl::Status status = Verify(Chain(), authority_.certificate(), kNow, host);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << host;
    EXPECT_THAT(std::string(status.message()), HasSubstr("but for audit.example.com, *.cluster.local, 10.0.0.1, ::1"));
  }
}

TEST_F(PinTest, AClientIsNoServerAndTheOtherWayRound) {
  const Certificate client = ClientOf(authority_, key_, {Role::kAgent, "localhost"});
  EXPECT_THAT(std::string(Verify({client}, authority_.certificate(), kNow, "").message()), HasSubstr("for a server"));
  EXPECT_TRUE(Verify({client}, authority_.certificate(), kNow, "", ChainQuery::Purpose::kClient).ok());
  EXPECT_THAT(std::string(Verify(Chain(), authority_.certificate(), kNow, "", ChainQuery::Purpose::kClient).message()),
              HasSubstr("for a client"));
}

TEST_F(PinTest, ALeafSignsNobody) {
  const std::string key_pem = Pem(key_);
  EXPECT_EQ(CodeOf(Authority::FromPem(server_.ToPem(), key_pem, kNow)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Verify({ClientOf(NewAuthority(), Key(), {Role::kAdmin, "x"}), server_, authority_.certificate()},
                   authority_.certificate(), kNow, "", ChainQuery::Purpose::kClient)
                .code(),
            absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace paritect
