#include "checks/settings/made_by_scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Stated {
  const char* name;
  double number;
  const char* option = "";
};

v1::ScriptFact Made(const std::string& name, const std::vector<Stated>& arguments) {
  v1::ScriptFact fact;
  fact.set_kind("optimizer");
  fact.set_name(name);
  fact.set_framework("pytorch");
  fact.set_called(true);
  fact.set_entry("train.py");
  for (const Stated& one : arguments) {
    v1::ScriptArgument& argument = *fact.add_arguments();
    argument.set_name(one.name);
    argument.mutable_value()->set_number(one.number);
    argument.set_symbol(absl::StrCat(one.number));
    argument.set_option(one.option);
  }
  return fact;
}

v1::Bundle RunOf(const std::string& run, const std::vector<v1::ScriptFact>& facts, bool command_line_known = true) {
  v1::Bundle bundle = NodeOf(run, "node", "", "pytorch", {});
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SCRIPTS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  v1::ScriptTree& tree = *evidence.mutable_script_tree();
  tree.add_entries("train.py");
  tree.add_trainers("train.py");
  tree.set_whole(true);
  tree.set_command_line_known(command_line_known);
  for (const v1::ScriptFact& fact : facts) *tree.add_facts() = fact;
  return bundle;
}

std::optional<MadeByScripts> Compare(v1::Bundle a, v1::Bundle b) {
  std::vector<v1::Bundle> baseline, migrated;
  baseline.push_back(std::move(a));
  migrated.push_back(std::move(b));
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  const CheckContext context = {evidence, BuiltInRules().profile, BuiltInRules()};
  const std::vector<RunView> left = evidence.Runs(Side::kBaseline);
  const std::vector<RunView> right = evidence.Runs(Side::kMigrated);
  std::optional<MadeByScripts> made =
      MadeOnBothSides(SettingsView::Of(context, Side::kBaseline, left[0]),
                      SettingsView::Of(context, Side::kMigrated, right[0]), "optimizer");
  // Its facts live as long as the evidence.
  if (made) made->baseline = made->migrated = nullptr;
  return made;
}

TEST(MadeByScripts, ArgumentsThatBothSidesState) {
  const v1::ScriptFact adam = Made("torch.optim.Adam", {{"lr", 0.1}, {"eps", 1e-8}});
  const auto same = Compare(RunOf("a", {adam}), RunOf("b", {adam}));
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->differ);
  EXPECT_THAT(same->open, IsEmpty());
  // The rate has a check of its own.
  EXPECT_FALSE(
      Compare(RunOf("a", {adam}), RunOf("b", {Made("torch.optim.Adam", {{"lr", 0.2}, {"eps", 1e-8}})}))->differ);
  EXPECT_TRUE(
      Compare(RunOf("a", {adam}), RunOf("b", {Made("torch.optim.Adam", {{"lr", 0.1}, {"eps", 1e-6}})}))->differ);
  EXPECT_TRUE(Compare(RunOf("a", {adam}), RunOf("b", {Made("torch.optim.SGD", {{"lr", 0.1}})}))->differ);
}

// What one side states and the other leaves to a default that no table has.
TEST(MadeByScripts, ArgumentsOfOneSideAreOpen) {
  const auto made =
      Compare(RunOf("a", {Made("own.Optimizer", {{"beta", 0.9}})}), RunOf("b", {Made("own.Optimizer", {})}));
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->differ);
  EXPECT_THAT(made->open, ElementsAre("beta"));
}

// An option counts as far as the command line is known.
TEST(MadeByScripts, OptionsAsFarAsTheyAreKnown) {
  const v1::ScriptFact a = Made("torch.optim.Adam", {{"eps", 1e-8, "eps"}});
  const v1::ScriptFact b = Made("torch.optim.Adam", {{"eps", 1e-6, "eps"}});
  EXPECT_TRUE(Compare(RunOf("a", {a}), RunOf("b", {b}))->differ);
  const auto unknown = Compare(RunOf("a", {a}, false), RunOf("b", {b}, false));
  EXPECT_FALSE(unknown->differ);
  EXPECT_THAT(unknown->open, ElementsAre("eps"));
}

TEST(MadeByScripts, NothingToCompare) {
  const v1::ScriptFact adam = Made("torch.optim.Adam", {{"eps", 1e-8}});
  v1::ScriptFact perhaps = adam;
  perhaps.set_conditional(true);
  EXPECT_FALSE(Compare(RunOf("a", {adam}), RunOf("b", {})));
  EXPECT_FALSE(Compare(RunOf("a", {adam}), RunOf("b", {adam, adam})));
  EXPECT_FALSE(Compare(RunOf("a", {adam}), RunOf("b", {perhaps})));
  EXPECT_FALSE(Compare(RunOf("a", {adam}), RunOf("b", {Made("mindspore.nn.Adam", {{"eps", 1e-8}})})));
  EXPECT_FALSE(Compare(RunOf("a", {Made("torch.optim.lr_scheduler.LambdaLR", {})}),
                       RunOf("b", {Made("torch.optim.lr_scheduler.LambdaLR", {})})));
}

}  // namespace
}  // namespace paritect
