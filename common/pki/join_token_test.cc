#include "common/pki/join_token.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

TEST(JoinToken, HasItsFormAndIsNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 200; ++i) {
    const std::string token = *NewToken();
    EXPECT_THAT(token, testing::ContainsRegex("^pjt(-[a-z2-7][a-z2-7][a-z2-7][a-z2-7]){8}$"));
    EXPECT_TRUE(tokens.insert(token).second);
  }
}

TEST(JoinToken, EveryPlaceVaries) {
  std::vector<std::set<char>> seen(64);
  for (int i = 0; i < 300; ++i) {
    const std::string token = *NewToken();
    for (std::size_t at = 0; at < token.size(); ++at) seen[at].insert(token[at]);
  }
  for (std::size_t at = 4; at < 43; ++at) EXPECT_GT(seen[at].size(), at % 5 == 3 ? 0u : 20u) << at;
}

TEST(JoinToken, DigestForgivesTypingAndNothingElse) {
  const std::string token = *NewToken();
  const auto digest = TokenDigest(token);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->size(), 64u);
  EXPECT_EQ(*TokenDigest(absl::AsciiStrToUpper(token)), *digest);
  EXPECT_EQ(*TokenDigest(absl::StrCat("  ", token, "\r\n")), *digest);
  EXPECT_EQ(*TokenDigest(absl::StrReplaceAll(token, {{"-", ""}})), *digest);
  EXPECT_EQ(*TokenDigest(absl::StrReplaceAll(token, {{"-", " "}})), *digest);
  std::string other = token;
  other[10] = other[10] == 'a' ? 'b' : 'a';
  EXPECT_NE(*TokenDigest(other), *digest);
}

TEST(JoinToken, DigestOfAKnownTokenStays) {
  EXPECT_EQ(*TokenDigest("pjt-aaaa-bbbb-cccc-dddd-eeee-ffff-2222-7777"),
            "b69b1a4ff963b11983c6d1363b42d6760f8ce36a03a4dbfe030705b3c3dd841e");
}

TEST(JoinToken, RefusesOthersWithoutRepeatingThem) {
  const std::string token = *NewToken();
  for (const std::string& bad :
       {std::string(), std::string("pjt-"), token + "a", token.substr(1), token.substr(0, token.size() - 1) + "1",
        std::string(1 << 20, 'a'), "xyz" + token.substr(3), std::string("sekret")}) {
    const auto digest = TokenDigest(bad);
    EXPECT_EQ(digest.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(digest.status().message().size(), 200u);
    EXPECT_THAT(std::string(digest.status().message()), testing::Not(testing::HasSubstr("sekret")));
  }
}

TEST(JoinToken, IsBoundToANameOrToManyThatFitAPattern) {
  EXPECT_TRUE(TokenServes("", "npu-01"));
  EXPECT_TRUE(TokenServes("npu-01", "npu-01"));
  EXPECT_FALSE(TokenServes("npu-01", "npu-011"));
  EXPECT_TRUE(TokenServes("npu-*", "npu-01"));
  EXPECT_FALSE(TokenServes("npu-*", "gpu-npu-01"));
  EXPECT_TRUE(TokenServes("npu-[0-3]?", "npu-19"));
  EXPECT_FALSE(TokenServes("npu-[0-3]?", "npu-49"));
  EXPECT_FALSE(TokenServes("npu.01", "npu-01")) << "a dot is a dot";
}

TEST(JoinToken, WhatItIsBoundToIsChecked) {
  for (const absl::string_view good : {"npu-01", "npu-*", "*", "?pu-[0-9][!a]"}) {
    EXPECT_TRUE(CheckTokenNode(good).ok()) << good;
  }
  for (const absl::string_view bad : {"", "../x", "npu *", "npu-*/x", "a{b,c}*", "-*"}) {
    EXPECT_EQ(CheckTokenNode(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(CheckTokenNode(std::string(1 << 20, '*')).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paritect
