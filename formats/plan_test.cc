#include "formats/plan.h"
#include "common/status_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view text) {
  auto plan = ParsePlan(text);
  return plan.ok() ? "" : std::string(plan.status().message());
}

TEST(Plan, PublishedSettingsAndDataByNameAlone) {
  const auto plan = ParsePlan("role: published\ndatasets: [{name: d, root: d, hash: false}, {name: e, root: e}]\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(RoleWord(plan->info().role()), "published");
  EXPECT_TRUE(plan->datasets(0).names_only());
  EXPECT_FALSE(plan->datasets(1).names_only());
}

TEST(ParsePlan, ReadsEveryKey) {
  auto plan = ParsePlan(R"(
run: gpu-seed1
node: gpu-01
role: fp32-reference
platform: nvidia
framework: pytorch
world_size: 16
live: true
datasets:
  - {name: train, root: data/train, include: ["**"], exclude: [tmp/**], follow_symlinks: true}
  - {name: val, manifest: val.md5, part: true, role: validation}
  - {name: raw, listing: ls-U.txt}
shards:
  - {list: "shards/rank_{rank}.txt", dataset: train, ranks: "0-2,12"}
  - {trace: trace/}
settings:
  - training_args.json
  - {file: "env-{node}.txt", kind: environment}
logs: ["a.log", {file: tb/, format: tensorboard}, {file: odd.log, pattern: 'step (?P<step>\d+)'}]
weights: [{step: 0, file: "w/*.safetensors", stage: pretrained}]
tensors: [{step: 0, file: dump.json}]
scripts: [src]
in_clear: [label, "plugin.*"]
facts: {global_batch_size: 256, reference_accuracy: 76.1}
)");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->info().world_size(), 16);
  EXPECT_EQ(plan->info().role(), v1::ROLE_FP32_REFERENCE);
  EXPECT_TRUE(plan->info().live());
  EXPECT_THAT(plan->in_clear(), ElementsAre("label", "plugin.*"));
  ASSERT_EQ(plan->datasets_size(), 3);
  EXPECT_TRUE(plan->datasets(0).follow_symlinks());
  EXPECT_TRUE(plan->datasets(1).part());
  EXPECT_EQ(plan->datasets(1).role(), "validation");
  EXPECT_EQ(CodeOf(ParsePlan("datasets: [{name: val, root: v, role: testing}]\n")), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(plan->shards(0).ranks(), ElementsAre(0, 1, 2, 12));
  EXPECT_EQ(plan->settings(1).kind(), "environment");
  EXPECT_EQ(plan->logs(2).pattern(), "step (?P<step>\\d+)");
  EXPECT_EQ(plan->weights(0).stage(), "pretrained");
  EXPECT_EQ(plan->info().facts().at("global_batch_size").integer(), 256);
}

TEST(ParsePlan, JsonIsAPlanToo) {
  auto plan = ParsePlan(R"({"run": "gpu", "datasets": [{"name": "train", "root": "b"}]})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->datasets(0).root(), "b");
}

TEST(ParsePlan, EmptyPlanCollectsNothing) {
  ASSERT_TRUE(ParsePlan("").ok());
  ASSERT_TRUE(ParsePlan("# only a comment\n").ok());
}

TEST(ParsePlan, RefusesWithAPosition) {
  EXPECT_THAT(ErrorOf("run: a\ndatasests: []\n"), HasSubstr("2:1: unknown key 'datasests'"));
  EXPECT_THAT(ErrorOf("run: a\nrun: b\n"), HasSubstr("2:1: key 'run' stands twice"));
  EXPECT_THAT(ErrorOf("datasets:\n  - {name: t, root: a, manifest: b}\n"),
              HasSubstr("2:5: a data set needs exactly one"));
  EXPECT_THAT(ErrorOf("datasets: {name: t}\n"), HasSubstr("1:11: `datasets` must be a list"));
  EXPECT_THAT(ErrorOf("world_size: many\n"), HasSubstr("1:13: `world_size` must be a whole number"));
  EXPECT_THAT(ErrorOf("world_size: 0\n"), HasSubstr("from 1 on"));
  EXPECT_THAT(ErrorOf("live: maybe\n"), HasSubstr("`live` must be true or false"));
  EXPECT_THAT(ErrorOf("platform: h100\n"), HasSubstr("`platform` must be one of auto"));
  EXPECT_THAT(ErrorOf("shards: [{list: a, ranks: 7-0}]\n"), HasSubstr("not a list of ranks"));
  EXPECT_THAT(ErrorOf("logs:\n  - {file: a, pattern: 'loss (?P<loss'}\n"), HasSubstr("2:24: "));
  EXPECT_THAT(ErrorOf("logs: [{file: a, pattern: 'loss (.*)'}]\n"), HasSubstr("1:27: "));
  EXPECT_THAT(ErrorOf("- a\n- b\n"), HasSubstr("a plan must be a map"));
  EXPECT_THAT(ErrorOf("just text"), HasSubstr("a plan must be a map"));
}

}  // namespace
}  // namespace paritect
