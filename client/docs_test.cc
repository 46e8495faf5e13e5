// What the documents show must be true: their YAML is read, their tables are compared with the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>

#include "client/command.h"
#include "client/report/renderer.h"
#include "common/document.h"
#include "common/numbers.h"
#include "formats/audit_file.h"
#include "formats/plan.h"

namespace paritect {
namespace {

using testing::HasSubstr;

std::string Document(absl::string_view name) {
  auto text = ReadWholeFile(PosixFileSystem(), absl::StrCat(PARITECT_SOURCE_DIR, "/", name), 1 << 20);
  EXPECT_TRUE(text.ok()) << name;
  return text.value_or("");
}

// The ```yaml blocks of a document.
std::vector<std::string> YamlBlocks(absl::string_view name) {
  const std::string text = Document(name);
  std::vector<std::string> blocks;
  re2::StringPiece rest(text);
  static const RE2& block = *new RE2("(?s)```yaml\n(.*?)```");
  std::string one;
  while (RE2::FindAndConsume(&rest, block, &one)) blocks.push_back(one);
  return blocks;
}

TEST(Documents, ThePlanShownIsAPlan) {
  const auto blocks = YamlBlocks("docs/plan.md");
  ASSERT_EQ(blocks.size(), 2u);
  auto plan = ParsePlan(blocks[0]);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->info().run(), "gpu-seed1");
  auto published = ParsePlan(blocks[1]);
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_EQ(published->info().role(), v1::ROLE_PUBLISHED);
}

TEST(Documents, TheProfileAndTheAnswersShownAreRead) {
  const auto blocks = YamlBlocks("docs/profiles.md");
  ASSERT_EQ(blocks.size(), 2u);
  auto root = ParseDocument(blocks[0]);
  ASSERT_TRUE(root.ok()) << root.status();
  auto profile = ReadProfile(*root, BuiltInRules().profile);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->waivers.size(), 1u);
  EXPECT_NE(BuiltInRules().catalogue.FindCheck(profile->waivers[0].check), nullptr);
  auto answers = ParseDocument(blocks[1]);
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_TRUE(ReadAnswers(*answers, *profile).ok());
  EXPECT_EQ(profile->attestations.size(), 1u);
}

TEST(Documents, TheAuditFilesShownAreRead) {
  const auto blocks = YamlBlocks("docs/audits.md");
  ASSERT_EQ(blocks.size(), 3u);  // the first is a client's configuration
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    auto audit = ParseAuditFile(blocks[i]);
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(ReadAuditProfile(*audit, BuiltInRules().profile).ok());
    EXPECT_GT(audit->schedule_seconds(), 0);
  }
}

TEST(Documents, TheThresholdsShownAreTheBuiltInOnes) {
  const std::string text = Document("docs/profiles.md");
  for (const auto& [name, value] : BuiltInRules().profile.thresholds) {
    std::string shown;
    EXPECT_TRUE(RE2::PartialMatch(text, absl::StrCat("\\| `", name, "` \\| ([0-9.]+) \\|"), &shown)) << name;
    EXPECT_EQ(ParseDouble(shown), value) << name;
  }
}

TEST(Documents, FormatsAndCommandsShownAreThere) {
  const std::string report = Document("docs/report.md");
  for (const Renderer* renderer : AllRenderers())
    EXPECT_THAT(report, HasSubstr(absl::StrCat("| `", renderer->name, "` |")));
  static const RE2& call = *new RE2("(?m)^(?:\\$ )?(?:build/release/)?paritect ([a-z]+)");
  for (const char* name : {"README.md", "README.zh.md", "docs/getting-started.md", "docs/plan.md", "docs/profiles.md",
                           "docs/report.md", "docs/audits.md"}) {
    const std::string text = Document(name);
    re2::StringPiece rest(text);
    std::string verb;
    int calls = 0;
    while (RE2::FindAndConsume(&rest, call, &verb)) {
      ++calls;
      bool known = false;
      for (const Command* command : AllCommands()) known = known || command->name == verb;
      EXPECT_TRUE(known) << name << ": paritect " << verb;
    }
    EXPECT_GT(calls, 0) << name;
  }
}

std::set<std::string> CommandsOf(const char* page) {
  const std::string text = Document(page);
  re2::StringPiece rest(text);
  static const RE2& call = *new RE2("(?m)^paritect ([a-z]+)");
  std::set<std::string> commands;
  for (std::string verb; RE2::FindAndConsume(&rest, call, &verb);) commands.insert(verb);
  return commands;
}

TEST(Documents, ReadmeInBothLanguagesTellsTheSameJobs) {
  const std::set<std::string> commands = CommandsOf("README.md");
  EXPECT_GT(commands.size(), 8u);
  EXPECT_EQ(CommandsOf("README.zh.md"), commands);
}

}  // namespace
}  // namespace paritect
