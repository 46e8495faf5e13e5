#include "rules/settings_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using testing::HasSubstr;

absl::Status Read(absl::string_view text) {
  auto root = ParseDocument(text);
  return root.ok() ? ReadSettingsFormats(*root).status() : root.status();
}

TEST(SettingsFormatFacts, ByName) {
  EXPECT_TRUE(FactsOfSettingsFormat("megatron-args").printed);
  EXPECT_TRUE(FactsOfSettingsFormat("environment").no_arguments);
  EXPECT_FALSE(FactsOfSettingsFormat("no such format").printed);
}

// What DeepSpeed reads and what it prints is one configuration.
TEST(SettingsFormatFacts, OfOneLibraryHoldForEachOfItsForms) {
  const SettingsFormatFacts& file = FactsOfSettingsFormat("deepspeed-json");
  const SettingsFormatFacts& print = FactsOfSettingsFormat("deepspeed-dump");
  EXPECT_TRUE(file.deepspeed && print.deepspeed);
  EXPECT_TRUE(file.scales_fp16 && print.scales_fp16);
  EXPECT_TRUE(file.decides_type && print.decides_type);
}

TEST(SettingsFormatFacts, AWrongTableSaysWhere) {
  const absl::Status fact = Read("formats:\n  - {format: a, facts: [is_odd]}\n");
  EXPECT_EQ(fact.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(fact.message(), HasSubstr("2:"));
  EXPECT_THAT(fact.message(), HasSubstr("unknown fact 'is_odd'"));
  EXPECT_THAT(Read("formats: [{format: a}, {format: a}]\n").message(), HasSubstr("stands twice"));
}

}  // namespace
}  // namespace paritect
