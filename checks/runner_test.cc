#include "checks/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::Bundle DatasetBundle(absl::string_view run, std::vector<std::pair<std::string, std::string>> files) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(std::string(run));
  bundle.mutable_plan()->set_node("node-1");
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_subject("train");
  evidence.mutable_files()->set_dataset("train");
  for (const auto& [path, content] : files) {
    v1::FileEntry& file = *evidence.mutable_files()->add_files();
    file.set_path(path);
    file.set_type(v1::FILE_TYPE_REGULAR);
    file.set_size_bytes(content.size());
    file.set_md5(Md5(content));
  }
  return bundle;
}

v1::Report Audit(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated, const Profile& profile,
                 AuditOptions options = {}) {
  if (options.today.empty()) options.today = "2026-06-01";
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  return RunAudit(evidence, profile, BuiltInRules(), options);
}

const v1::CheckResult& Find(const v1::Report& report, absl::string_view id) {
  for (const auto& item : report.items()) {
    for (const auto& check : item.checks()) {
      if (check.id() == id) return check;
    }
  }
  static const v1::CheckResult* const kNone = new v1::CheckResult();
  ADD_FAILURE() << "no check " << id;
  return *kNone;
}

TEST(RunAudit, HoldsEveryItemAndCheckOfTheCatalogue) {
  const v1::Report report = Audit({}, {}, BuiltInRules().profile);
  ASSERT_EQ(report.items_size(), static_cast<int>(BuiltInRules().catalogue.items.size()));
  for (int i = 0; i < report.items_size(); ++i) {
    EXPECT_EQ(report.items(i).checks_size(), static_cast<int>(BuiltInRules().catalogue.items[i].checks.size()));
  }
  EXPECT_NE(report.verdict(), v1::VERDICT_PASS);
}

TEST(RunAudit, NothingPassesWithoutEvidence) {
  const v1::Report report = Audit({}, {}, BuiltInRules().profile);
  for (const auto& item : report.items()) {
    for (const auto& check : item.checks()) {
      // These do not apply offline; everything else needs evidence.
      if (item.id() == "evidence.integrity" || check.id() == "cluster.coverage.records") continue;
      EXPECT_NE(check.verdict(), v1::VERDICT_PASS) << check.id();
      EXPECT_GT(check.missing_size(), 0) << check.id();
    }
  }
}

TEST(RunAudit, ChecksThatNoTimeIsLeftForAreNotPerformed) {
  AuditOptions options;
  int asked = 0;
  options.time_is_over = [&asked]() { return ++asked > 3; };
  const v1::Report report = Audit({}, {}, BuiltInRules().profile, options);
  EXPECT_EQ(report.items_size(), static_cast<int>(BuiltInRules().catalogue.items.size()));
  int over = 0;
  int all = 0;
  for (const auto& item : report.items()) {
    for (const auto& check : item.checks()) {
      ++all;
      for (const auto& missing : check.missing()) {
        if (missing.what().en().find("the time that the server judges") == std::string::npos) continue;
        ++over;
        EXPECT_EQ(check.verdict(), v1::VERDICT_NOT_PERFORMED) << check.id();
      }
    }
  }
  EXPECT_EQ(over, all - 3);
}

TEST(RunAudit, FailsOnPartialEvidenceAndNeverPassesOnIt) {
  v1::Bundle migrated = DatasetBundle("npu", {{"a", "1"}, {"b", "other"}});
  v1::Evidence& lost = *migrated.add_evidence();
  lost.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  lost.set_outcome(v1::OUTCOME_FAILED);
  lost.mutable_problem()->set_id("source_unreadable");
  (*lost.mutable_problem()->mutable_args())["source"] = "/data/val";
  const v1::Report report = Audit({DatasetBundle("gpu", {{"a", "1"}, {"b", "2"}})}, {migrated}, BuiltInRules().profile);
  EXPECT_EQ(Find(report, "data.dataset.content").verdict(), v1::VERDICT_FAIL);
  const v1::CheckResult& files = Find(report, "data.dataset.files");
  EXPECT_EQ(files.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_GT(files.missing_size(), 0);
  EXPECT_THAT(files.missing(0).what().en(), HasSubstr("/data/val"));
}

TEST(RunAudit, SideThatIsNotThereIsNamed) {
  const v1::Report report = Audit({DatasetBundle("gpu", {{"a", "1"}})}, {}, BuiltInRules().profile);
  const v1::CheckResult& files = Find(report, "data.dataset.content");
  EXPECT_EQ(files.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_GT(files.missing_size(), 0);
  EXPECT_EQ(files.missing(0).from(), "migrated");
}

TEST(RunAudit, WaivedErrorNoLongerFailsUntilItEnds) {
  Profile profile = BuiltInRules().profile;
  profile.waivers.push_back({.check = "data.dataset.content",
                             .kind = "content_differs",
                             .subject = "b",
                             .nodes = {},
                             .reason = "known",
                             .by = "li",
                             .until = "2026-06-01",
                             .ref = ""});
  const auto sides = [] { return DatasetBundle("gpu", {{"a", "1"}, {"b", "2"}}); };
  const auto other = [] { return DatasetBundle("npu", {{"a", "1"}, {"b", "3"}}); };
  const v1::Report kept = Audit({sides()}, {other()}, profile);
  const v1::CheckResult& content = Find(kept, "data.dataset.content");
  EXPECT_EQ(content.verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(content.waived(), 1);
  const v1::Report ended = Audit({sides()}, {other()}, profile, {.items = {}, .today = "2026-06-02"});
  EXPECT_EQ(Find(ended, "data.dataset.content").verdict(), v1::VERDICT_FAIL);
  ASSERT_THAT(ended.warnings(), SizeIs(1));
  EXPECT_THAT(ended.warnings(0).en(), HasSubstr("ended on 2026-06-01"));
}

TEST(RunAudit, AttestationAnswersWhatTheMachineCannot) {
  Profile profile = BuiltInRules().profile;
  profile.attestations.push_back(
      {.check = "data.dataset.content", .by = "li", .reason = "seen", .until = "2026-12-31"});
  const v1::Report open = Audit({DatasetBundle("gpu", {{"a", "1"}})}, {}, profile);
  EXPECT_EQ(Find(open, "data.dataset.content").verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Find(open, "data.dataset.content").attested().by(), "li");
  // It never beats a failure that was found.
  const v1::Report failed = Audit({DatasetBundle("gpu", {{"a", "1"}})}, {DatasetBundle("npu", {{"a", "2"}})}, profile);
  EXPECT_EQ(Find(failed, "data.dataset.content").verdict(), v1::VERDICT_FAIL);
}

TEST(RunAudit, FindingsAreCappedWithTheFullCount) {
  std::vector<std::pair<std::string, std::string>> baseline;
  std::vector<std::pair<std::string, std::string>> migrated;
  for (int i = 0; i < 300; ++i) {
    baseline.emplace_back("f" + std::to_string(i), "1");
    migrated.emplace_back("f" + std::to_string(i), "2");
  }
  const v1::Report report =
      Audit({DatasetBundle("gpu", baseline)}, {DatasetBundle("npu", migrated)}, BuiltInRules().profile);
  const v1::CheckResult& content = Find(report, "data.dataset.content");
  EXPECT_EQ(content.findings_size(), 200);
  EXPECT_EQ(content.findings_total(), 300);
  EXPECT_EQ(content.findings(0).facts().fields().at("total").number_value(), 300);
}

TEST(RunAudit, SameEvidenceSameBytes) {
  const auto make = [] {
    return Audit({DatasetBundle("gpu", {{"a", "1"}, {"b", "2"}, {"c", "3"}})},
                 {DatasetBundle("npu", {{"a", "x"}, {"b", "y"}, {"d", "3"}})}, BuiltInRules().profile);
  };
  EXPECT_EQ(make().DebugString(), make().DebugString());
}

TEST(ItemVerdict, FollowsTheChecklist) {
  const auto item = [](std::vector<std::pair<v1::Verdict, bool>> checks) {
    v1::ItemResult result;
    for (const auto& [verdict, required] : checks) {
      v1::CheckResult& check = *result.add_checks();
      check.set_verdict(verdict);
      check.set_required(required);
    }
    return ItemVerdict(result);
  };
  using v1::VERDICT_FAIL;
  using v1::VERDICT_NOT_PERFORMED;
  using v1::VERDICT_PASS;
  EXPECT_EQ(item({{VERDICT_PASS, true}, {VERDICT_NOT_PERFORMED, false}}), VERDICT_PASS);
  EXPECT_EQ(item({{VERDICT_PASS, true}, {VERDICT_NOT_PERFORMED, true}}), VERDICT_NOT_PERFORMED);
  EXPECT_EQ(item({{VERDICT_NOT_PERFORMED, false}, {VERDICT_NOT_PERFORMED, false}}), VERDICT_NOT_PERFORMED);
  EXPECT_EQ(item({{VERDICT_NOT_PERFORMED, true}, {VERDICT_FAIL, false}}), VERDICT_FAIL);
}

TEST(RunAudit, TheCapLeavesOneOfEachKind) {
  std::vector<std::pair<std::string, std::string>> gpu;
  std::vector<std::pair<std::string, std::string>> npu;
  for (int i = 0; i < 30; ++i) {
    gpu.emplace_back(absl::StrCat("a", 100 + i), "x");
    if (i == 29) npu.emplace_back("zz_only_here", "y");
  }
  AuditOptions options;
  options.findings_max = 5;
  const v1::Report report =
      Audit({DatasetBundle("g", gpu)}, {DatasetBundle("n", npu)}, BuiltInRules().profile, options);
  const v1::CheckResult& files = Find(report, "data.dataset.files");
  EXPECT_EQ(files.findings_size(), 5);
  EXPECT_EQ(files.findings_total(), 31);
  int extra = 0;
  for (const v1::Finding& finding : files.findings()) extra += finding.kind() == "extra" ? 1 : 0;
  EXPECT_EQ(extra, 1);
  EXPECT_EQ(files.findings(0).subject(), "a100");
}

}  // namespace
}  // namespace paritect
