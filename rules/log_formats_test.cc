#include "rules/log_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using testing::HasSubstr;

absl::Status Read(absl::string_view text) {
  auto root = ParseDocument(text);
  return root.ok() ? ReadLogFormats(*root).status() : root.status();
}

TEST(LogFormats, FactsByName) {
  EXPECT_TRUE(FactsOfLogFormat("megatron").prints_on_last_rank);
  EXPECT_TRUE(FactsOfLogFormat("fairseq").steps_are_updates);
  EXPECT_FALSE(FactsOfLogFormat("fairseq").schedule_counts_updates);
  EXPECT_FALSE(FactsOfLogFormat("no such format").records_have_times);
}

TEST(LogFormats, AWrongTableSaysWhere) {
  const absl::Status fact = Read("formats:\n  - {format: a, facts: [prints]}\n");
  EXPECT_EQ(fact.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(fact.message(), HasSubstr("2:"));
  EXPECT_THAT(fact.message(), HasSubstr("unknown fact 'prints'"));
  EXPECT_THAT(Read("formats: [{format: a}, {format: a}]\n").message(), HasSubstr("stands twice"));
}

}  // namespace
}  // namespace paritect
