#include "agent/daemon/agent_config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(absl::string_view text) {
  const auto config = ParseAgentConfig(text);
  return config.ok() ? "" : std::string(config.status().message());
}

TEST(AgentConfig, ReadsEveryKey) {
  const auto config = ParseAgentConfig(R"(
roots: [/data, /logs]
servers: ["a.example:7400", "[::1]:7400"]
bwlimit: 200M
nice: 10
in_clear: [label, "plugin.*"]
labels: {rack: a1, "7": b}
plans:
  - /p/plan.yaml
  - {plan: /q, every: 6h}
spool: {max_bytes: 1G, max_age: 2d}
)");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->in_clear, ElementsAre("label", "plugin.*"));
  EXPECT_THAT(config->roots, ElementsAre("/data", "/logs"));
  EXPECT_THAT(config->servers, ElementsAre("a.example:7400", "[::1]:7400"));
  EXPECT_EQ(config->bytes_per_second, 200u << 20);
  EXPECT_EQ(config->nice, 10);
  EXPECT_EQ(config->labels.at("rack"), "a1");
  ASSERT_EQ(config->plans.size(), 2u);
  EXPECT_EQ(config->plans[0].every_seconds, 0);
  EXPECT_EQ(config->plans[1].every_seconds, 21'600);
  EXPECT_EQ(config->spool_bytes_max, 1u << 30);
  EXPECT_EQ(config->spool_age_seconds_max, 2 * 86'400);
}

TEST(AgentConfig, NothingIsTheDefaultAndSoIsTheTemplate) {
  const auto nothing = ParseAgentConfig("");
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->roots.empty());
  const auto made = ParseAgentConfig(AgentConfigTemplate());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(*made == *nothing);
}

TEST(AgentConfig, TheTemplatesExamplesAreGood) {
  const std::string text = AgentConfigTemplate();
  EXPECT_EQ(ErrorOf(text), "");
  for (const std::string line :
       {"#labels: {rack: a1}", "#servers: [audit.example.com:7400]", "#spool: {max_bytes: 256M, max_age: 7d}"}) {
    EXPECT_THAT(text, HasSubstr(line));
    EXPECT_EQ(ErrorOf(line.substr(1)), "") << line;
  }
}

TEST(AgentConfig, SaysWhereItIsWrong) {
  EXPECT_THAT(ErrorOf("roots: []\nrots: [/data]\n"), StartsWith("2:1: "));
  EXPECT_THAT(ErrorOf("roots: [data]"), testing::AllOf(StartsWith("1:9: "), HasSubstr("absolute")));
  EXPECT_THAT(ErrorOf("servers: [a]"), StartsWith("1:11: "));
  EXPECT_THAT(ErrorOf("bwlimit: fast"), StartsWith("1:10: "));
  EXPECT_THAT(ErrorOf("bwlimit: 99999999999999999999G"), StartsWith("1:10: "));
  EXPECT_THAT(ErrorOf("nice: 20"), StartsWith("1:7: "));
  EXPECT_THAT(ErrorOf("labels: [a]"), StartsWith("1:9: "));
  EXPECT_THAT(ErrorOf("plans: [plan.yaml]"), HasSubstr("absolute"));
  EXPECT_THAT(ErrorOf("plans: [{every: 6h}]"), HasSubstr("absolute"));
  EXPECT_THAT(ErrorOf("spool: {max_bytes: 1M}"), HasSubstr("16M"));
  EXPECT_THAT(ErrorOf("[1]"), StartsWith("1:1: "));
}

}  // namespace
}  // namespace paritect
