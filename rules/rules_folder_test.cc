#include "rules/rules_folder.h"

#include "common/memory_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kAlias[] = R"(keys:
  - key: lr_base
    aliases: [my_own_rate]
)";

TEST(RulesFolderTest, FilesAreNamedAsInTheBuiltInFolder) {
  MemoryFileSystem fs;
  fs.AddFile("/r/settings.yaml", kAlias);
  fs.AddFile("/r/messages/own.yaml", "a: {en: a, zh: a}");
  fs.AddFile("/r/README.md", "not rules");
  auto files = ReadRulesFolder(fs, "/r");
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> names;
  for (const RulesFile& file : *files) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("messages/own.yaml", "settings.yaml"));
}

TEST(RulesFolderTest, ArgumentsWithoutTheOptionStayAsTheyAre) {
  MemoryFileSystem fs;
  for (std::vector<std::string> arguments : {std::vector<std::string>{"check", "a", "b"},
                                             std::vector<std::string>{"run", "--", "train", "--rules", "own"}}) {
    const std::vector<std::string> before = arguments;
    EXPECT_TRUE(TakeRulesOption(fs, arguments).ok());
    EXPECT_EQ(arguments, before);
  }
}

TEST(RulesFolderTest, WhatIsWrongIsNamed) {
  MemoryFileSystem fs;
  fs.AddFile("/bad/settings.yaml", "keys: 3\n");
  fs.AddFile("/unknown/other.yaml", "a: 1\n");
  fs.AddFile("/catalogue/catalogue.yaml", "items: []\n");
  fs.AddFile("/empty/README.md", "");
  const auto message = [&](std::vector<std::string> arguments) {
    const absl::Status status = TakeRulesOption(fs, arguments);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({"check", "--rules", "/bad"}), HasSubstr("--rules /bad: settings.yaml:1:"));
  EXPECT_THAT(message({"--rules=/unknown", "check"}), HasSubstr("other.yaml"));
  EXPECT_THAT(message({"--rules=/catalogue"}), HasSubstr("cannot be overridden"));
  EXPECT_THAT(message({"--rules", "/empty"}), HasSubstr("no .yaml file"));
  EXPECT_THAT(message({"--rules", "/nowhere"}), HasSubstr("/nowhere"));
  EXPECT_THAT(message({"check", "--rules"}), HasSubstr("needs a folder"));
  EXPECT_THAT(message({"--rules", "/bad", "--rules", "/bad"}), HasSubstr("twice"));
}

TEST(RulesFolderTest, OverridesAddToTablesAndAreNamed) {
  auto rules = LoadRules(EmbeddedRules(), std::vector<RulesFile>{{"argument_words.yaml", "argument_words: [own]\n"},
                                                                 {"settings.yaml", kAlias}});
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_THAT(rules->overridden, ElementsAre("argument_words.yaml", "settings.yaml"));
  v1::Setting setting;
  setting.set_raw_key("my_own_rate");
  setting.mutable_value()->set_number(0.1);
  const std::vector<CanonicalSetting> found = rules->settings.Canonicalise("yaml", setting);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key->key, "lr_base");
}

}  // namespace
}  // namespace paritect
