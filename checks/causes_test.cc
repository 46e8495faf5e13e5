#include "checks/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A report of failed findings, each "CHECK KIND SUBJECT".
class FailedReport {
 public:
  v1::Finding& Add(const std::string& check, const std::string& kind, const std::string& subject = "s") {
    v1::CheckResult& result = CheckOf(check);
    v1::Finding& finding = *result.add_findings();
    finding.set_severity(v1::SEVERITY_ERROR);
    finding.set_kind(kind);
    finding.set_subject(subject);
    return finding;
  }
  v1::Report& Linked() {
    LinkConsequences(BuiltInCauses(), report_);
    return report_;
  }

 private:
  v1::CheckResult& CheckOf(const std::string& id) {
    for (v1::CheckResult& check : *report_.mutable_items(0)->mutable_checks()) {
      if (check.id() == id) return check;
    }
    v1::CheckResult& check = *report_.mutable_items(0)->add_checks();
    check.set_id(id);
    check.set_verdict(v1::VERDICT_FAIL);
    return check;
  }
  v1::Report report_ = [] {
    v1::Report report;
    report.add_items();
    return report;
  }();
};

// "CHECK:KIND < CHECK:KIND, …": a cause and what follows from it.
std::vector<std::string> Told(const v1::Report& report) {
  std::vector<std::string> told;
  for (const Cause& cause : CausesOf(BuiltInCauses(), report)) {
    std::string line = cause.check->id() + ":" + cause.findings[0]->kind();
    for (const Consequence& one : cause.consequences) {
      line += " < " + one.check->id() + ":" + one.findings[0]->kind();
    }
    told.push_back(line);
  }
  return told;
}

TEST(Causes, AFailedDataSetExplainsTheFirstBatchAndTheCurve) {
  FailedReport report;
  report.Add("data.dataset.content", "truncated", "part-00007");
  report.Add("first-step.forward.loss", "first_loss_differs");
  report.Add("training.flow.loss-curve", "loss_differs");
  EXPECT_THAT(Told(report.Linked()),
              ElementsAre("data.dataset.content:truncated < first-step.forward.loss:first_loss_differs < "
                          "training.flow.loss-curve:loss_differs"));
}

void SetStep(v1::Finding& finding, const char* name, double step) {
  (*finding.mutable_facts()->mutable_fields())[name].set_number_value(step);
}

TEST(Causes, OfLossGradientsAndCurveOfOneEventTheFirstIsTheCause) {
  const auto told = [](double loss, double gradients, double apart) {
    FailedReport report;
    SetStep(report.Add("training.flow.loss-curve", "nan_grad_norm", "npu"), "step", gradients);
    SetStep(report.Add("training.flow.loss-curve", "nan_suspected", "npu"), "step", loss);
    SetStep(report.Add("training.flow.loss-curve", "loss_lower", "npu"), "first_divergent_step", apart);
    return Told(report.Linked());
  };
  const std::string check = "training.flow.loss-curve:";
  EXPECT_THAT(told(260, 260, 260),
              ElementsAre(check + "nan_suspected < " + check + "nan_grad_norm < " + check + "loss_lower"));
  EXPECT_THAT(told(270, 260, 270),
              ElementsAre(check + "nan_grad_norm < " + check + "nan_suspected < " + check + "loss_lower"));
  // A curve that left before is no consequence.
  EXPECT_THAT(told(260, 260, 100),
              ElementsAre(check + "nan_suspected < " + check + "nan_grad_norm", check + "loss_lower"));
}

TEST(Causes, ALossThatIsNoNumberOverflowsEveryGradient) {
  const auto told = [](double loss, std::optional<double> overflows) {
    FailedReport report;
    SetStep(report.Add("training.flow.loss-curve", "nan_loss", "npu"), "step", loss);
    v1::Finding& rate = report.Add("migrated.loss-scale.overflow-rate", "overflow_rate_exceeded", "npu");
    if (overflows.has_value()) SetStep(rate, "step", *overflows);
    report.Add("migrated.loss-scale.trend", "loss_scale_not_finite", "npu");
    return Told(report.Linked());
  };
  const std::string loss = "training.flow.loss-curve:nan_loss";
  const std::string rate = "migrated.loss-scale.overflow-rate:overflow_rate_exceeded";
  const std::string trend = "migrated.loss-scale.trend:loss_scale_not_finite";
  EXPECT_THAT(told(141, 141), ElementsAre(loss + " < " + rate + " < " + trend));
  // Overflows of their own, and skipped ones make no loss a NaN.
  EXPECT_THAT(told(141, std::nullopt), ElementsAre(rate + " < " + trend, loss));
}

TEST(Causes, TwoSchedulesAreACauseBesideADataSetOrARate) {
  const std::string check = "model.hyperparameters.learning-rate-curve";
  FailedReport report;
  report.Add("data.dataset.content", "truncated");
  report.Add("model.hyperparameters.learning-rate", "learning_rate_differs", "lr_base");
  report.Add(check, "schedule_differs", "npu");
  EXPECT_THAT(Told(report.Linked()), SizeIs(3));
  FailedReport one;
  one.Add("model.hyperparameters.learning-rate", "schedule_differs", "lr_style");
  one.Add(check, "schedule_differs", "npu");
  EXPECT_THAT(Told(one.Linked()),
              ElementsAre("model.hyperparameters.learning-rate:schedule_differs < " + check + ":schedule_differs"));
}

TEST(Causes, TheFactNamesTheRootAndNotWhatStandsBetween) {
  FailedReport report;
  report.Add("training.flow.initial-weights", "weights_differ", "embedding");
  report.Add("first-step.forward.loss", "first_loss_differs");
  report.Add("convergence.scenario", "scenario_curve");
  const v1::Report& linked = report.Linked();
  const auto& list = linked.items(0).checks(2).findings(0).facts().fields().at("caused_by").list_value();
  ASSERT_EQ(list.values_size(), 1);
  const auto& cause = list.values(0).struct_value().fields();
  EXPECT_EQ(cause.at("check").string_value(), "training.flow.initial-weights");
  EXPECT_EQ(cause.at("kind").string_value(), "weights_differ");
  EXPECT_EQ(cause.at("subject").string_value(), "embedding");
}

TEST(Causes, AScheduleDoesNotExplainALossThatDiffersBeforeItsFirstUpdate) {
  FailedReport report;
  report.Add("model.hyperparameters.learning-rate", "learning_rate_differs");
  report.Add("first-step.forward.loss", "first_loss_differs");
  report.Add("training.flow.loss-curve", "loss_differs");
  EXPECT_THAT(Told(report.Linked()), ElementsAre("model.hyperparameters.learning-rate:learning_rate_differs < "
                                                 "training.flow.loss-curve:loss_differs",
                                                 "first-step.forward.loss:first_loss_differs"));
}

TEST(Causes, StandInTheOrderOfWorkWhateverTheOrderOfTheReport) {
  FailedReport report;
  report.Add("convergence.scenario", "scenario_curve");
  report.Add("migrated.loss-scale.enabled", "loss_scale_off");
  report.Add("model.hyperparameters.values", "value_differs");
  report.Add("data.dataset.files", "missing");
  EXPECT_THAT(Told(report.Linked()), ElementsAre("data.dataset.files:missing",
                                                 "model.hyperparameters.values:value_differs < "
                                                 "convergence.scenario:scenario_curve",
                                                 "migrated.loss-scale.enabled:loss_scale_off"));
}

TEST(Causes, OneFactToldTwiceIsOneCauseWhereItsSubjectIsTheSame) {
  FailedReport report;
  report.Add("cluster.consistency.variables", "variable_differs", "HCCL_DETERMINISTIC");
  report.Add("training.flow.environment", "variable_differs", "HCCL_DETERMINISTIC");
  report.Add("training.flow.environment", "variable_differs", "OTHER");
  EXPECT_THAT(Told(report.Linked()), ElementsAre("cluster.consistency.variables:variable_differs < "
                                                 "training.flow.environment:variable_differs",
                                                 "training.flow.environment:variable_differs"));
}

TEST(Causes, ALengthInSamplesFollowsFromTheBatchAndOtherValuesDoNot) {
  FailedReport report;
  report.Add("model.hyperparameters.values", "value_differs", "training length");
  report.Add("model.hyperparameters.global-batch", "value_differs", "global_batch_size");
  EXPECT_THAT(Told(report.Linked()), ElementsAre("model.hyperparameters.global-batch:value_differs < "
                                                 "model.hyperparameters.values:value_differs"));
  FailedReport other;
  other.Add("model.hyperparameters.values", "value_differs", "seed");
  other.Add("model.hyperparameters.global-batch", "value_differs", "global_batch_size");
  EXPECT_THAT(Told(other.Linked()), SizeIs(2));
}

TEST(Causes, AFileCutOffMakesFewerStepsAndAnotherCurveOfRates) {
  FailedReport report;
  report.Add("data.dataset.content", "truncated");
  report.Add("model.hyperparameters.learning-rate-curve", "lr_curve_differs");
  EXPECT_THAT(Told(report.Linked()), SizeIs(1));
  FailedReport twice;
  twice.Add("data.dataset.content", "truncated");
  twice.Add("model.hyperparameters.learning-rate-curve", "schedule_faster");
  EXPECT_THAT(Told(twice.Linked()), SizeIs(2));
}

TEST(Causes, AWaivedErrorIsNeitherCauseNorConsequence) {
  FailedReport report;
  report.Add("data.dataset.content", "truncated").mutable_waived()->set_by("someone");
  report.Add("training.flow.loss-curve", "loss_differs");
  EXPECT_THAT(Told(report.Linked()), ElementsAre("training.flow.loss-curve:loss_differs"));
}

TEST(Causes, AConsequenceWhoseCauseTheReportDoesNotHoldStandsByItself) {
  FailedReport whole;
  whole.Add("data.dataset.content", "truncated");
  whole.Add("training.flow.loss-curve", "loss_differs");
  v1::Report part = whole.Linked();
  part.mutable_items(0)->mutable_checks()->DeleteSubrange(0, 1);
  EXPECT_THAT(Told(part), ElementsAre("training.flow.loss-curve:loss_differs"));
}

TEST(Causes, FindingsThatExplainEachOtherInACircleAreCauses) {
  auto root = ParseDocument(
      "stages: [{id: all, title: {en: a, zh: a}, checks: [a.*, b.*]}]\n"
      "explains:\n"
      "  - {effect: [a.x], cause: [b.y], because: {en: r, zh: r}}\n"
      "  - {effect: [b.y], cause: [a.x], because: {en: r, zh: r}}\n");
  ASSERT_TRUE(root.ok());
  const auto rules = ReadCauses(*root);
  ASSERT_TRUE(rules.ok()) << rules.status();
  v1::Report report;
  for (const char* id : {"a.x", "b.y"}) {
    v1::CheckResult& check = *report.add_items()->add_checks();
    check.set_id(id);
    check.add_findings()->set_severity(v1::SEVERITY_ERROR);
  }
  LinkConsequences(*rules, report);
  EXPECT_THAT(CausesOf(*rules, report), SizeIs(2));
}

// The graph as it ships: a check without a stage would stand behind everything, and one that explains itself over
// others would hide both.
TEST(CauseRules, EveryCheckHasItsStage) {
  const CauseRules& rules = BuiltInCauses();
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    for (const CatalogueCheck& check : item.checks) {
      EXPECT_LT(rules.StageOf(check.id), rules.stages.size()) << check.id;
    }
  }
}

TEST(CauseRules, EveryPatternMeetsACheckOfTheCatalogue) {
  std::vector<std::string> ids;
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    for (const CatalogueCheck& check : item.checks) ids.push_back(check.id);
  }
  for (const Explanation& why : BuiltInCauses().explanations) {
    for (const auto* patterns : {&why.effects, &why.causes}) {
      for (const FindingPattern& pattern : *patterns) {
        EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
          return pattern.MatchesCheck(id);
        })) << pattern.check;
      }
    }
  }
}

TEST(CauseRules, AnUnknownStageIsRefusedWithItsPlace) {
  auto root = ParseDocument("stages: []\nexplains:\n  - {effect: [\"@none\"], cause: [a], because: {en: r, zh: r}}\n");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(ReadCauses(*root).status().message(), "3:15: there is no stage 'none'");
}

}  // namespace
}  // namespace paritect
