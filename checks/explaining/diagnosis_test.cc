#include "checks/explaining/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/series/fixture.h"
#include "rules/walk.h"

namespace paritect {
namespace {

v1::Report Report(const std::vector<std::pair<std::string, v1::Verdict>>& verdicts, int scenario = 0) {
  v1::Report report;
  v1::ItemResult& item = *report.add_items();
  for (const auto& [id, verdict] : verdicts) {
    v1::CheckResult& check = *item.add_checks();
    check.set_id(id);
    check.set_verdict(verdict);
  }
  if (scenario != 0) {
    v1::CheckResult& check = *item.add_checks();
    check.set_id("convergence.scenario");
    check.set_verdict(v1::VERDICT_FAIL);
    v1::Finding& finding = *check.add_findings();
    finding.set_severity(v1::SEVERITY_ERROR);
    if (scenario > 0) (*finding.mutable_facts()->mutable_fields())["scenario"].set_number_value(scenario);
  }
  return report;
}

// "STAGE/STEP" where the walk goes on.
std::string Next(const Diagnosis& diagnosis) {
  if (!diagnosis.next.has_value()) return "";
  const StageAnswer& stage = diagnosis.stages[diagnosis.next->stage];
  return stage.stage->id + "/" + stage.steps[diagnosis.next->step].step->id;
}

std::vector<std::pair<std::string, v1::Verdict>> Everything(v1::Verdict verdict) {
  std::vector<std::pair<std::string, v1::Verdict>> all;
  for (const WalkStage& stage : BuiltInWalk()) {
    for (const WalkStep& step : stage.steps) {
      for (const std::string& check : step.checks) all.emplace_back(check, verdict);
    }
  }
  return all;
}

TEST(Walk, EveryCheckIsInTheCatalogueAndEveryReferenceLeadsSomewhere) {
  ASSERT_FALSE(BuiltInWalk().empty());
  for (const WalkStage& stage : BuiltInWalk()) {
    for (const WalkStep& step : stage.steps) {
      for (const std::string& check : step.checks) {
        EXPECT_NE(BuiltInRules().catalogue.FindCheck(check), nullptr) << check;
      }
      const auto is_stage = [&](const WalkStage& other) { return other.id == step.stage; };
      const auto is_step = [&](const WalkStep& other) { return other.id == step.after; };
      EXPECT_TRUE(step.stage.empty() || std::any_of(BuiltInWalk().begin(), BuiltInWalk().end(), is_stage)) << step.id;
      EXPECT_TRUE(step.after.empty() || std::any_of(stage.steps.begin(), stage.steps.end(), is_step)) << step.id;
      EXPECT_FALSE(step.next.empty()) << step.id << " says nothing to do";
    }
  }
}

TEST(Walk, AFileThatIsNotOfItsFormIsRefused) {
  const auto refused = [](const char* text) { return !ReadWalk(*ParseDocument(text)).ok(); };
  EXPECT_TRUE(refused("walk: 3"));
  EXPECT_TRUE(refused("walk: [{id: a, title: {en: x, zh: y}}]"));
  EXPECT_TRUE(refused("walk: [{id: a, title: {en: x, zh: y}, steps: [{id: b, title: {en: x, zh: y}}]}]"));
  EXPECT_TRUE(refused("walk: [{id: a, title: {en: x}, steps: [{id: b, title: {en: x, zh: y}, checks: [c]}]}]"));
  EXPECT_TRUE(refused("walk: [{id: a, what: 1}]"));
  EXPECT_FALSE(refused("walk: [{id: a, title: {en: x, zh: y}, steps: [{id: b, title: {en: x, zh: y}, checks: [c]}]}]"));
}

TEST(Diagnosis, OnlyTheDecidedScenarioIsWalked) {
  const v1::Report report = Report(Everything(v1::VERDICT_PASS), 2);
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), report);
  EXPECT_EQ(diagnosis.scenario, 2);
  ASSERT_EQ(diagnosis.stages.size(), 3u);
  EXPECT_EQ(diagnosis.stages[2].stage->id, "scenario-2");
  EXPECT_TRUE(diagnosis.failed());
  EXPECT_TRUE(diagnosis.exhausted);
  EXPECT_EQ(Next(diagnosis), "");
}

TEST(Diagnosis, GoesOnWhereTheFirstStepFails) {
  auto verdicts = Everything(v1::VERDICT_PASS);
  for (auto& [id, verdict] : verdicts) {
    if (id == "model.hyperparameters.learning-rate-curve") verdict = v1::VERDICT_FAIL;
  }
  const v1::Report report = Report(verdicts, 2);
  EXPECT_EQ(Next(Diagnose(BuiltInWalk(), report)), "scenario-2/learning-rate");
}

TEST(Diagnosis, WithoutAFailureTheStepsOfTheScenarioThatNobodyLookedAtComeFirst) {
  auto verdicts = Everything(v1::VERDICT_PASS);
  for (auto& [id, verdict] : verdicts) {
    if (id == "training.flow.evaluation" || id == "network.definition.defaults") verdict = v1::VERDICT_NOT_PERFORMED;
  }
  const v1::Report of_accuracy = Report(verdicts, 3);
  EXPECT_EQ(Next(Diagnose(BuiltInWalk(), of_accuracy)), "scenario-3/evaluation");
  verdicts.emplace_back("convergence.scenario", v1::VERDICT_PASS);
  const v1::Report healthy = Report(verdicts);
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), healthy);
  EXPECT_EQ(diagnosis.scenario, 0);
  EXPECT_FALSE(diagnosis.failed());
  EXPECT_EQ(Next(diagnosis), "preparation/defaults");
}

TEST(Diagnosis, AFirstLossThatDiffersMakesTheGradientsWait) {
  auto verdicts = Everything(v1::VERDICT_PASS);
  for (auto& [id, verdict] : verdicts) {
    if (id == "first-step.forward.loss" || id.starts_with("first-step.gradients")) verdict = v1::VERDICT_FAIL;
  }
  const v1::Report report = Report(verdicts, 1);
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), report);
  EXPECT_EQ(Next(diagnosis), "first-step/forward-loss");
  for (const StepAnswer& step : diagnosis.stages[1].steps) {
    const bool later = step.step->id == "gradients" || step.step->id == "updated" || step.step->id == "same-update";
    EXPECT_EQ(step.waits, later || step.step->id == "backward-operator") << step.step->id;
  }
  // The scenario's own step is answered by that stage.
  EXPECT_EQ(diagnosis.stages[2].steps[0].verdict, v1::VERDICT_FAIL);
}

TEST(Diagnosis, NaNIsScenarioOneAndAnEmptyReportDecidesNothing) {
  const v1::Report nan = Report({}, -1);
  EXPECT_EQ(Diagnose(BuiltInWalk(), nan).scenario, 1);
  const v1::Report empty;
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), empty);
  EXPECT_EQ(diagnosis.scenario, std::nullopt);
  EXPECT_EQ(diagnosis.stages.size(), BuiltInWalk().size());
  EXPECT_FALSE(diagnosis.failed());
  EXPECT_EQ(Next(diagnosis), "preparation/batchnorm");
  EXPECT_EQ(diagnosis.stages[0].steps[0].absent.size(), 1u);
}

}  // namespace
}  // namespace paritect
