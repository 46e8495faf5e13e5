#include "agent/daemon/renewal.h"

#include "absl/synchronization/notification.h"
#include "common/pki/server_folder.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using pki_testing::kNow;

class RenewalTest : public testing::Test {
 protected:
  LoadedCredential Issue(std::int64_t now, std::int64_t lifetime = kDaySeconds) {
    LoadedCredential loaded;
    loaded.credential = *IssueCredential(authority_, {Role::kAgent, "n1"}, {"h:1"}, lifetime, now);
    const auto certificate = Certificate::FromPem(loaded.credential.certificate_pem);
    loaded.not_before = certificate->NotBefore();
    loaded.not_after = certificate->NotAfter();
    return loaded;
  }
  std::unique_ptr<Renewal> Make(LoadedCredential loaded) {
    Renewal::Ports ports;
    ports.ask = [this](const Credential&) -> absl::StatusOr<Credential> {
      ++asked_;
      if (fail_) return absl::UnavailableError("no server");
      return Issue(now_, lifetime_).credential;
    };
    ports.random = [] { return 0.5; };
    ports.wake = [this] { woken_.Notify(); };
    return std::make_unique<Renewal>(std::move(loaded), std::move(ports));
  }
  // The answer of the one call that is due at `now`.
  absl::StatusOr<Credential> Once(Renewal& renewal, std::int64_t now) {
    now_ = now;
    EXPECT_FALSE(renewal.Poll(now).has_value());
    woken_.WaitForNotification();
    auto answer = renewal.Poll(now);
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }

  const Authority authority_ = pki_testing::NewAuthority();
  std::int64_t now_ = kNow;
  std::int64_t lifetime_ = kDaySeconds;
  bool fail_ = false;
  int asked_ = 0;
  absl::Notification woken_;
};

TEST_F(RenewalTest, AsksAtHalfLifeAndNotBefore) {
  const auto renewal = Make(Issue(kNow));
  EXPECT_NEAR(static_cast<double>(renewal->due() - kNow), kDaySeconds / 2, 200);
  EXPECT_FALSE(renewal->Poll(renewal->due() - 1).has_value());
  EXPECT_EQ(asked_, 0);
  const std::int64_t due = renewal->due();
  ASSERT_TRUE(Once(*renewal, due).ok());
  EXPECT_NEAR(static_cast<double>(renewal->due() - due), kDaySeconds / 2, 200);
}

TEST_F(RenewalTest, TriesAgainAfterAFailureWithinTheRemainingLife) {
  fail_ = true;
  const auto renewal = Make(Issue(kNow));
  const std::int64_t due = renewal->due();
  EXPECT_TRUE(absl::IsUnavailable(Once(*renewal, due).status()));
  EXPECT_GT(renewal->due(), due);
  EXPECT_LT(renewal->due(), due + 1000);
}

TEST_F(RenewalTest, AVeryShortLifeIsNotRenewedWithoutEnd) {
  lifetime_ = 60;
  const auto renewal = Make(Issue(kNow, 60));
  ASSERT_TRUE(Once(*renewal, kNow).ok()) << "half of 360 s, of which 300 lie before";
  EXPECT_GE(renewal->due(), kNow + 15);
}

}  // namespace
}  // namespace paritect
