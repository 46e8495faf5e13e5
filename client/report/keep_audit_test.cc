#include "client/report/keep_audit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "common/file_system.h"
#include "google/protobuf/util/message_differencer.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

class KeepAuditTest : public ::testing::Test {
 protected:
  KeepAuditTest() {
    Forget();
    baseline_[0].mutable_plan()->set_run("gpu");
    migrated_[0].mutable_plan()->set_run("npu");
    v1::Evidence& log = *migrated_[1].add_evidence();
    log.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    // More than one part.
    log.set_source(std::string(700'000, 'x'));
    report_.set_verdict(v1::VERDICT_FAIL);
  }
  ~KeepAuditTest() override { Forget(); }

  void Forget() {
    for (const char* end : {"", ".lock", "-wal", "-shm"}) ::unlink(absl::StrCat(file_, end).c_str());
  }
  absl::StatusOr<std::int64_t> Keep() {
    const EvidenceSet evidence(baseline_, migrated_);
    return KeepAudit(env_, file_, evidence, report_);
  }

  std::ostringstream out_;
  CommandEnv env_ = {.fs = PosixFileSystem(),
                     .out = out_,
                     .err = out_,
                     .rules = BuiltInRules(),
                     .today = "2026-01-01",
                     .getenv = [](absl::string_view) { return std::string(); }};
  const std::string file_ = absl::StrCat(::testing::TempDir(), "/keep_audit_test_", ::getpid(), ".db");
  std::vector<v1::Bundle> baseline_ = std::vector<v1::Bundle>(1), migrated_ = std::vector<v1::Bundle>(2);
  v1::Report report_;
};

TEST_F(KeepAuditTest, WhatIsKeptComesBackEqual) {
  ASSERT_EQ(Keep().value_or(-1), 1);
  report_.set_verdict(v1::VERDICT_PASS);
  ASSERT_EQ(Keep().value_or(-1), 2);
  auto audits = KeptAudits(env_, file_);
  ASSERT_TRUE(audits.ok()) << audits.status();
  ASSERT_EQ(audits->size(), 2u);
  EXPECT_EQ(audits->at(1).name(), "gpu / npu");
  EXPECT_EQ(audits->at(1).created_on(), "2026-01-01");
  auto newest = LoadKeptAudit(env_, file_, 0);
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->report.verdict(), v1::VERDICT_PASS);
  ASSERT_EQ(newest->migrated.size(), 2u);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(newest->migrated[1], migrated_[1]));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(newest->baseline[0], baseline_[0]));
  EXPECT_EQ(LoadKeptAudit(env_, file_, 1)->report.verdict(), v1::VERDICT_FAIL);
}

TEST_F(KeepAuditTest, EqualEvidenceIsKeptOnce) {
  ASSERT_TRUE(Keep().ok());
  const std::uint64_t once = env_.fs.Stat(file_)->size_bytes;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Keep().ok());
  EXPECT_LT(env_.fs.Stat(file_)->size_bytes, once + 300'000);
}

TEST_F(KeepAuditTest, WhatIsNotThereIsNotMade) {
  EXPECT_EQ(KeptAudits(env_, file_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadKeptAudit(env_, file_, 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::IsNotFound(env_.fs.Stat(file_).status()));
  ASSERT_TRUE(Keep().ok());
  const absl::Status other = LoadKeptAudit(env_, file_, 7).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(other.message()), HasSubstr("no audit 7"));
  const EvidenceSet evidence(baseline_, migrated_);
  const absl::Status nowhere = KeepAudit(env_, "/no/such/folder/a.db", evidence, report_).status();
  EXPECT_TRUE(absl::IsNotFound(nowhere) || absl::IsPermissionDenied(nowhere)) << nowhere;
}

TEST_F(KeepAuditTest, AFileOfAnotherKindIsRefusedAndStaysAsItIs) {
  const int fd = ::open(file_.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(fd, 0);
  const std::string text(5000, 'n');
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(fd);
  const absl::Status status = Keep().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file_));
  EXPECT_EQ(ReadWholeFile(env_.fs, file_, 1 << 20).value_or(""), text);
}

}  // namespace
}  // namespace paritect
