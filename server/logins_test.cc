#include "server/logins.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

class LoginsTest : public ::testing::Test {
 protected:
  static LoginHolder Holder(const std::string& actor, std::int64_t certificate_ends_unix = 0) {
    LoginHolder holder = {.actor = actor, .certificate = {}};
    holder.certificate.set_certificate_expires_unix(certificate_ends_unix);
    return holder;
  }
  std::optional<std::string> ActorOf(absl::string_view session) {
    const auto holder = logins_.HolderOf(session);
    return holder ? std::optional<std::string>(holder->actor) : std::nullopt;
  }

  std::int64_t now_ms_ = 1'000'000;
  Logins logins_{[this] { return now_ms_; }};
};

TEST_F(LoginsTest, ATokenBecomesOneSessionOfItsRole) {
  const auto token = logins_.NewToken(Holder("operator/anna"), 0);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(ActorOf(token->secret), std::nullopt) << "a token is no session";
  const auto session = logins_.Enter(token->secret);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(ActorOf(session->secret), "operator/anna");
  EXPECT_TRUE(absl::IsPermissionDenied(logins_.Enter(token->secret).status())) << "used up";
  logins_.Leave(session->secret);
  EXPECT_EQ(ActorOf(session->secret), std::nullopt);
}

TEST_F(LoginsTest, BothEnd) {
  const auto late = logins_.NewToken(Holder("viewer/x"), 0);
  const auto token = logins_.NewToken(Holder("viewer/y"), 60);
  const auto session = logins_.Enter(token->secret);
  now_ms_ += 61'000;
  EXPECT_EQ(ActorOf(session->secret), std::nullopt);
  now_ms_ += Logins::kTokenSeconds * 1000;
  EXPECT_EQ(logins_.Enter(late->secret).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(LoginsTest, ASessionEndsWithTheCertificateThatItWasMadeWith) {
  const std::int64_t end = now_ms_ / 1000 + 100;
  const auto token = logins_.NewToken(Holder("viewer/x", end), Logins::kSessionSecondsMax);
  const auto unused = logins_.NewToken(Holder("viewer/x", end), 0);
  const auto session = logins_.Enter(token->secret);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->expires_unix, end);
  now_ms_ += 99'000;
  EXPECT_EQ(ActorOf(session->secret), "viewer/x");
  now_ms_ += 1'000;
  EXPECT_EQ(ActorOf(session->secret), std::nullopt);
  EXPECT_EQ(logins_.Enter(unused->secret).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(absl::IsPermissionDenied(logins_.NewToken(Holder("viewer/x", end), 0).status()));
}

TEST_F(LoginsTest, StrangersGetNothing) {
  for (const char* secret : {"", "pjt-", "x"}) {
    EXPECT_EQ(logins_.Enter(secret).status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(ActorOf(secret), std::nullopt);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(logins_.NewToken(Holder("admin/a"), Logins::kSessionSecondsMax + 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(logins_.NewToken(Holder("admin/a"), -1).status()));
}

TEST_F(LoginsTest, TheirNumberIsBounded) {
  const auto first = logins_.Enter(logins_.NewToken(Holder("viewer/first"), 60)->secret);
  for (std::size_t i = 0; i < Logins::kSessionsMax; ++i) {
    ASSERT_TRUE(logins_.Enter(logins_.NewToken(Holder("viewer/more"), 600)->secret).ok());
  }
  EXPECT_EQ(ActorOf(first->secret), "viewer/first") << "who logs in without end puts nobody else out";
  for (std::size_t i = 0; i < Logins::kSessionsMax; ++i) {
    ASSERT_TRUE(logins_.Enter(logins_.NewToken(Holder(absl::StrCat("viewer/", i)), 600)->secret).ok());
  }
  EXPECT_EQ(ActorOf(first->secret), std::nullopt) << "the one that ends first went";
}

}  // namespace
}  // namespace paritect
