#include "common/net/starting_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kHourMs = 3'600'000;

absl::Status Refused() {
  return AsOfStartingServer(absl::UnavailableError("refused"));
}

struct Asked {
  int times = 0;
  std::vector<std::string> told;
  absl::Status status;
};

// The last answer is given to all further attempts.
Asked Ask(std::int64_t limit_ms, std::vector<absl::Status> answers) {
  Asked asked;
  asked.status = AskWhileStarting(
      limit_ms, [&](const std::string& text) { asked.told.push_back(text); },
      [&] {
        const auto at = std::min(static_cast<std::size_t>(asked.times++), answers.size() - 1);
        return answers[at];
      });
  return asked;
}

TEST(StartingServer, IsAskedAgainAndToldOnce) {
  const Asked asked = Ask(kHourMs, {Refused(), Refused(), absl::OkStatus()});
  EXPECT_TRUE(asked.status.ok()) << asked.status;
  EXPECT_EQ(asked.times, 3);
  EXPECT_THAT(asked.told, ElementsAre("refused; trying for 3600 s, as the server may be starting"));
}

TEST(StartingServer, WhatEndsTheWaitIsTheAnswer) {
  const Asked asked = Ask(kHourMs, {Refused(), absl::PermissionDeniedError("no")});
  EXPECT_EQ(asked.status.code(), absl::StatusCode::kPermissionDenied);
}

TEST(StartingServer, OtherErrorsAreNotWaitedFor) {
  const Asked asked = Ask(kHourMs, {absl::UnavailableError("no such host")});
  EXPECT_EQ(asked.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(asked.times, 1);
  EXPECT_THAT(asked.told, IsEmpty());
}

TEST(StartingServer, NobodyIsWaitedForWithoutTime) {
  const Asked asked = Ask(0, {Refused()});
  EXPECT_EQ(asked.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(asked.times, 1);
  EXPECT_THAT(asked.told, IsEmpty());
}

}  // namespace
}  // namespace paritect
