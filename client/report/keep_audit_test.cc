#include "client/report/keep_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "common/memory_file_system.h"
#include "storage/store.h"

namespace paritect {
namespace {

TEST(KeepAudit, KeepsEvidenceAndReport) {
  MemoryFileSystem fs;
  std::ostringstream out;
  const CommandEnv env = {
      .fs = fs, .out = out, .err = out, .rules = BuiltInRules(), .today = "2026-01-01", .getenv = nullptr};
  std::vector<v1::Bundle> baseline(1), migrated(2);
  baseline[0].mutable_plan()->set_run("gpu");
  migrated[0].mutable_plan()->set_run("npu");
  migrated[1].add_evidence()->set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  const EvidenceSet evidence(baseline, migrated);
  v1::Report report;
  report.set_verdict(v1::VERDICT_FAIL);
  const std::string file = absl::StrCat(::testing::TempDir(), "/keep_audit_test_", ::getpid(), ".db");
  ::unlink(file.c_str());
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = KeepAudit(env, file, evidence, report);
    ASSERT_TRUE(status.ok()) << status;
  }
  auto store = OpenStore("sqlite:" + file);
  ASSERT_TRUE(store.ok()) << store.status();
  auto audits = (*store)->ListAudits();
  ASSERT_EQ(audits->size(), 2u);
  EXPECT_EQ(audits->at(1).name, "gpu / npu");
  EXPECT_EQ((*store)->LoadBundles(audits->at(1).id, StoredSide::kMigrated)->size(), 2u);
  EXPECT_EQ((*store)->LoadReport(audits->at(1).id)->verdict(), v1::VERDICT_FAIL);
  EXPECT_FALSE(KeepAudit(env, "/no/such/folder/a.db", evidence, report).ok());
}

}  // namespace
}  // namespace paritect
