#include "common/pki/certificate.h"

#include "absl/strings/str_replace.h"
#include "common/pki/pin.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

TEST(Certificate, GoesThroughPem) {
  const Certificate certificate = NewAuthority().certificate();
  const auto again = Certificate::FromPem(certificate.ToPem());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ToDer(), certificate.ToDer());
  EXPECT_EQ(again->Fingerprint().size(), 64u);
  EXPECT_EQ(again->Subject(), again->Issuer());
  EXPECT_EQ(again->Subject(), absl::StrCat("CN=", again->CommonName()));
}

TEST(Certificate, TakesListsCrlfAndTextAround) {
  const std::string one = NewAuthority().certificate().ToPem();
  const std::string two = NewAuthority().certificate().ToPem();
  const auto list = Certificate::ListFromPem(
      absl::StrCat("subject=/CN=x\n", one, "\n\n# comment\n", absl::StrReplaceAll(two, {{"\n", "\r\n"}}), "end"));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].ToPem(), one);
  EXPECT_EQ((*list)[1].ToPem(), two);
  EXPECT_EQ(ToPem(*list), absl::StrCat(one, two));
}

TEST(Certificate, SkipsAKeyBeforeIt) {
  const std::string pem = NewAuthority().certificate().ToPem();
  EXPECT_TRUE(Certificate::FromPem(absl::StrCat(Pem(Key()), pem)).ok());
}

TEST(Certificate, RefusesJunkDamageAndTooMany) {
  const std::string pem = NewAuthority().certificate().ToPem();
  EXPECT_THAT(std::string(Certificate::FromPem("").status().message()), HasSubstr("no certificate"));
  EXPECT_THAT(std::string(Certificate::FromPem("junk").status().message()), HasSubstr("no certificate"));
  EXPECT_THAT(std::string(Certificate::FromPem(pem.substr(0, 200)).status().message()), HasSubstr("damaged"));
  EXPECT_THAT(std::string(Certificate::ListFromPem(absl::StrCat(pem, pem.substr(0, 200))).status().message()),
              HasSubstr("damaged"));
  EXPECT_THAT(std::string(Certificate::FromPem(std::string(2 << 20, '-')).status().message()), HasSubstr("too large"));
  std::string many;
  for (std::size_t i = 0; i < kCertificatesMax; ++i) many += pem;
  EXPECT_TRUE(Certificate::ListFromPem(many).ok());
  EXPECT_EQ(Certificate::ListFromPem(many + pem).status().code(), absl::StatusCode::kInvalidArgument);
}

// A changed byte is refused when it is read, or its signature no longer holds.
TEST(Certificate, NoFlippedBitKeepsTheSignature) {
  const Authority authority = NewAuthority();
  const Certificate certificate = ClientOf(authority, Key(), {Role::kAgent, "gpu-01"});
  std::string der = certificate.ToDer();
  int good = 0;
  for (char& byte : der) {
    byte = static_cast<char>(byte ^ 1);
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const openssl::UniqueX509 read(d2i_X509(nullptr, &at, static_cast<int>(der.size())));
    openssl::TakeError();
    if (read != nullptr) {
      const Certificate changed = Certificate::Share(read.get());
      good += VerifyChain({changed}, authority.certificate(), {ChainQuery::Purpose::kClient, kNow, ""}).ok();
    }
    byte = static_cast<char>(byte ^ 1);
  }
  EXPECT_EQ(good, 0);
}

TEST(Certificate, SaysItsTimes) {
  const Certificate certificate = ClientOf(NewAuthority(), Key(), {Role::kAgent, "a"});
  EXPECT_EQ(certificate.NotBefore(), kNow - kClientSkewSeconds);
  EXPECT_EQ(certificate.NotAfter(), kNow + kDaySeconds);
  EXPECT_EQ(FormatUtc(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(FormatUtc(1'790'000'000), "2026-09-21 14:13:20 UTC");
}

}  // namespace
}  // namespace paritect
