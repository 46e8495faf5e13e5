#include "rules/launch_scripts.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

absl::Status Read(absl::string_view text) {
  auto root = ParseYaml(text);
  if (!root.ok()) return root.status();
  return ReadLaunchScripts(*root).status();
}

TEST(LaunchScriptRules, KnownScriptsTellWhatTheirWordsAre) {
  const LaunchScript* script = FindLaunchScript("msrun_launcher.sh");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script->launcher, "msrun");
  EXPECT_EQ(script->forms[1].given, std::vector<std::string>{"worker_num"});
  EXPECT_EQ(FindLaunchScript("run.sh"), nullptr);
}

TEST(LaunchScriptRules, AnotherFormIsRefused) {
  EXPECT_TRUE(Read("launch_scripts: [{name: a.sh, launcher: b, forms: [[n], [n, m]]}]").ok());
  for (const char* text :
       {"launch_scripts: [{name: a.sh, launcher: b}]", "launch_scripts: [{name: a.sh, launcher: b, forms: [[n], [m]]}]",
        "launch_scripts: [{name: a.sh, launcher: b, forms: [n]}]", "scripts: []",
        "launch_scripts: [{name: a.sh, launcher: b, forms: [[[n]]]}]"}) {
    EXPECT_EQ(Read(text).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace paritect
