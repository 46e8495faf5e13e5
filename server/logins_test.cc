#include "server/logins.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

class LoginsTest : public ::testing::Test {
 protected:
  std::int64_t now_ms_ = 1'000'000;
  Logins logins_{[this] { return now_ms_; }};
};

TEST_F(LoginsTest, ATokenBecomesOneSessionOfItsRole) {
  const auto token = logins_.NewToken("operator/anna", 0);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(logins_.ActorOf(token->secret), std::nullopt) << "a token is no session";
  const auto session = logins_.Enter(token->secret);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(logins_.ActorOf(session->secret), "operator/anna");
  EXPECT_TRUE(absl::IsPermissionDenied(logins_.Enter(token->secret).status())) << "used up";
  logins_.Leave(session->secret);
  EXPECT_EQ(logins_.ActorOf(session->secret), std::nullopt);
}

TEST_F(LoginsTest, BothEnd) {
  const auto late = logins_.NewToken("viewer/x", 0);
  const auto token = logins_.NewToken("viewer/y", 60);
  const auto session = logins_.Enter(token->secret);
  now_ms_ += 61'000;
  EXPECT_EQ(logins_.ActorOf(session->secret), std::nullopt);
  now_ms_ += Logins::kTokenSeconds * 1000;
  EXPECT_FALSE(logins_.Enter(late->secret).ok());
}

TEST_F(LoginsTest, StrangersGetNothing) {
  for (const char* secret : {"", "pjt-", "x"}) {
    EXPECT_FALSE(logins_.Enter(secret).ok());
    EXPECT_EQ(logins_.ActorOf(secret), std::nullopt);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(logins_.NewToken("admin/a", Logins::kSessionSecondsMax + 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(logins_.NewToken("admin/a", -1).status()));
}

TEST_F(LoginsTest, TheirNumberIsBounded) {
  const auto first = logins_.Enter(logins_.NewToken("viewer/first", 60)->secret);
  for (std::size_t i = 0; i < Logins::kSessionsMax; ++i) {
    ASSERT_TRUE(logins_.Enter(logins_.NewToken("viewer/more", 600)->secret).ok());
  }
  EXPECT_EQ(logins_.ActorOf(first->secret), "viewer/first") << "who logs in without end puts nobody else out";
  for (std::size_t i = 0; i < Logins::kSessionsMax; ++i) {
    ASSERT_TRUE(logins_.Enter(logins_.NewToken(absl::StrCat("viewer/", i), 600)->secret).ok());
  }
  EXPECT_EQ(logins_.ActorOf(first->secret), std::nullopt) << "the one that ends first went";
}

}  // namespace
}  // namespace paritect
