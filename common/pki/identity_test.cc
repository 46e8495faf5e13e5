#include "common/pki/identity.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using testing::HasSubstr;

TEST(Role, WordsGoBothWays) {
  for (const Role role : kAllRoles) EXPECT_EQ(ParseRole(RoleName(role)), role);
  EXPECT_EQ(ParseRole("Admin"), std::nullopt);
  EXPECT_EQ(ParseRole(""), std::nullopt);
  EXPECT_EQ(ParseRole("admin "), std::nullopt);
}

TEST(Name, AcceptsWhatHostsAndPeopleAreCalled) {
  for (const char* name : {"a", "gpu-01", "gpu_01.rack2.example.com", "jane@example.com", "jane+audit", "0"}) {
    EXPECT_TRUE(CheckName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckName(std::string(253, 'a')).ok());
}

TEST(Name, RefusesPathsOptionsPatternsAndControlBytes) {
  for (const char* name :
       {"", ".", "..", "-x", "a/b", "a b", "gpu-*", "a\n", "\xe8\x8a\x82", "a,URI:x", "a%2f", "a:b"}) {
    EXPECT_EQ(CheckName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(CheckName(absl::string_view("a\0b", 3)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckName(std::string(254, 'a')).code(), absl::StatusCode::kInvalidArgument);
  const std::string huge(1 << 20, 'a');
  EXPECT_LT(CheckName(huge).message().size(), 200u);
  EXPECT_THAT(std::string(CheckName("a\x1b[31m").message()), testing::Not(HasSubstr("\x1b")));
}

TEST(IdentityUri, GoesBothWays) {
  for (const Role role : kAllRoles) {
    for (const char* name : {"gpu-01", "jane@example.com", "a+b"}) {
      const Identity identity{role, name};
      const auto parsed = ParseIdentityUri(IdentityUri(identity));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, identity);
    }
  }
  EXPECT_EQ(IdentityUri({Role::kAdmin, "jane@example.com"}), "paritect://admin/jane%40example.com");
}

TEST(IdentityUri, HasOneSpelling) {
  for (const char* uri :
       {"paritect://agent/%67pu", "paritect://agent/a%2", "paritect://agent/a%zz", "paritect://agent/",
        "paritect://agent", "paritect://root/a", "PARITECT://agent/a", "http://agent/a", "paritect://agent/a/b",
        "paritect://agent/a%2Fb", "paritect://agent/a%00", "paritect://admin/a%2b", "paritect://agent/a?x", ""}) {
    EXPECT_EQ(ParseIdentityUri(uri).status().code(), absl::StatusCode::kInvalidArgument) << uri;
  }
}

TEST(CommonNameOf, KeepsShortNamesAndTellsLongOnesApart) {
  EXPECT_EQ(CommonNameOf("gpu-01"), "gpu-01");
  EXPECT_EQ(CommonNameOf(std::string(64, 'a')), std::string(64, 'a'));
  const std::string one = CommonNameOf(absl::StrCat(std::string(200, 'a'), "1"));
  const std::string two = CommonNameOf(absl::StrCat(std::string(200, 'a'), "2"));
  EXPECT_EQ(one.size(), 64u);
  EXPECT_NE(one, two);
}

}  // namespace
}  // namespace paritect
