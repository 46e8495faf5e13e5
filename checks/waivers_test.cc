#include "checks/waivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr char kToday[] = "2026-06-15";

v1::Bundle OnNode(const std::string& node) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("r");
  bundle.mutable_plan()->set_node(node);
  return bundle;
}

std::vector<v1::Bundle> OnNodes(const std::vector<std::string>& nodes) {
  std::vector<v1::Bundle> bundles;
  for (const std::string& node : nodes) bundles.push_back(OnNode(node));
  return bundles;
}

v1::CheckResult Failing(const std::string& kind, const std::string& subject) {
  v1::CheckResult result;
  result.set_id("data.dataset.content");
  v1::Finding& finding = *result.add_findings();
  finding.set_severity(v1::SEVERITY_ERROR);
  finding.set_kind(kind);
  finding.set_subject(subject);
  return result;
}

ProfileWaiver Waiver(const std::string& kind, const std::string& subject) {
  ProfileWaiver waiver;
  waiver.check = "data.dataset.content";
  waiver.kind = kind;
  waiver.subject = subject;
  waiver.by = "Chen Yu";
  waiver.reason = "known";
  waiver.until = kToday;
  return waiver;
}

struct Outcome {
  v1::CheckResult result;
  v1::Report report;
};

Outcome Apply(const ProfileWaiver& waiver, v1::CheckResult result,
              const std::vector<std::string>& migrated_nodes = {"npu-1", "npu-11"}) {
  EvidenceSet evidence(OnNodes({"gpu-1"}), OnNodes(migrated_nodes));
  Profile profile;
  profile.waivers.push_back(waiver);
  PersonsAnswers answers(evidence, profile, kToday);
  answers.Waive(result);
  Outcome outcome;
  outcome.result = result;
  answers.Warn(BuiltInRules(), outcome.report);
  return outcome;
}

TEST(Waivers, CountUpToAndWithTheLastDay) {
  Outcome outcome = Apply(Waiver("truncated", ""), Failing("truncated", "a"));
  EXPECT_EQ(outcome.result.waived(), 1);
  EXPECT_EQ(outcome.result.findings(0).waived().by(), "Chen Yu");
  EXPECT_THAT(outcome.report.warnings(), SizeIs(0));
  ProfileWaiver ended = Waiver("truncated", "");
  ended.until = "2026-06-14";
  outcome = Apply(ended, Failing("truncated", "a"));
  EXPECT_EQ(outcome.result.waived(), 0);
  EXPECT_FALSE(outcome.result.findings(0).has_waived());
  ASSERT_THAT(outcome.report.warnings(), SizeIs(1));
  EXPECT_THAT(outcome.report.warnings(0).en(), HasSubstr("ended on 2026-06-14"));
}

TEST(Waivers, MustFitInAllThatTheyName) {
  EXPECT_EQ(Apply(Waiver("truncated", "b"), Failing("truncated", "a")).result.waived(), 0);
  EXPECT_EQ(Apply(Waiver("other", "a"), Failing("truncated", "a")).result.waived(), 0);
  EXPECT_EQ(Apply(Waiver("", "dir/*.bin"), Failing("truncated", "dir/a.bin")).result.waived(), 1);
  EXPECT_EQ(Apply(Waiver("", "a\\xFF"), Failing("truncated", "a\xff")).result.waived(), 1);
  Outcome outcome = Apply(Waiver("", ""), Failing("truncated", "a"));
  EXPECT_EQ(outcome.result.waived(), 0);
  EXPECT_THAT(outcome.report.warnings(0).en(), HasSubstr("names neither"));
  outcome = Apply(Waiver("truncated", "b"), Failing("truncated", "a"));
  EXPECT_THAT(outcome.report.warnings(0).en(), HasSubstr("matches no finding"));
}

TEST(Waivers, ForOneNodeNeverHideAnother) {
  ProfileWaiver waiver = Waiver("truncated", "");
  waiver.nodes = {"npu-1"};
  // About the whole side, of which npu-11 is not named.
  EXPECT_EQ(Apply(waiver, Failing("truncated", "a")).result.waived(), 0);
  EXPECT_EQ(Apply(waiver, Failing("truncated", "a"), {"npu-1"}).result.waived(), 1);
  // Said by the check itself.
  v1::CheckResult result = Failing("truncated", "a");
  result.mutable_findings(0)->add_nodes("npu-1");
  EXPECT_EQ(Apply(waiver, result).result.waived(), 1);
  result.mutable_findings(0)->add_nodes("npu-11");
  EXPECT_EQ(Apply(waiver, result).result.waived(), 0);
  // Named in the finding's words: a whole word, not a part of another name.
  result = Failing("truncated", "a");
  result.mutable_findings(0)->set_migrated("1442 bytes on npu-11");
  EXPECT_EQ(Apply(waiver, result).result.waived(), 0);
  result.mutable_findings(0)->set_migrated("1442 bytes on npu-1");
  EXPECT_EQ(Apply(waiver, result).result.waived(), 1);
  waiver.nodes = {"npu-*"};
  EXPECT_EQ(Apply(waiver, Failing("truncated", "a")).result.waived(), 1);
}

TEST(Waivers, OfChecksThatWereNotRunAreNotCalledUnused) {
  ProfileWaiver waiver = Waiver("truncated", "");
  waiver.check = "data.sharding.ranks";
  EXPECT_THAT(Apply(waiver, Failing("truncated", "a")).report.warnings(), SizeIs(0));
  waiver.check = "data.sharding.rank";
  EXPECT_THAT(Apply(waiver, Failing("truncated", "a")).report.warnings(0).en(), HasSubstr("no such check"));
}

TEST(Waivers, OfAKindThatIsMisspeltNameTheNearest) {
  const auto warning = [](const std::string& kind) {
    return Apply(Waiver(kind, ""), Failing("truncated", "a")).report.warnings(0).en();
  };
  EXPECT_THAT(warning("truncatd"), HasSubstr("did you mean 'truncated'?"));
  EXPECT_THAT(warning("quite_another_thing"), HasSubstr("no finding has that kind"));
  EXPECT_THAT(warning("empty_file"), HasSubstr("matches no finding any more"));
}

TEST(Attestations, AnswerWhatNoMachineCould) {
  EvidenceSet evidence({}, {});
  Profile profile;
  profile.attestations = {{"data.dataset.content", "Li", "seen", "2026-06-14"},
                          {"data.dataset.content", "Chen", "seen again", "2099-01-01"}};
  PersonsAnswers answers(evidence, profile, kToday);
  v1::CheckResult result = Failing("truncated", "a");
  result.set_verdict(v1::VERDICT_FAIL);
  answers.Attest(result);
  EXPECT_EQ(result.verdict(), v1::VERDICT_FAIL);  // what was found stands
  EXPECT_FALSE(result.has_attested());
  result.set_verdict(v1::VERDICT_NOT_PERFORMED);
  answers.Attest(result);
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(result.attested().by(), "Chen");
}

}  // namespace
}  // namespace paritect
