// One contract test over every backend, and what only the file-backed one can get wrong.
#include "storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/file_system.h"
#include "storage/sqlite.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string NewPath(absl::string_view name) {
  static int count = 0;
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/store_test_", ::getpid(), "_", count++, "_", name, ".db");
  for (const char* tail : {"", "-wal", "-shm", "-journal"}) ::unlink((path + tail).c_str());
  return path;
}

v1::Bundle Sample(const std::string& node) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("npu");
  bundle.mutable_plan()->set_node(node);
  bundle.set_collected_by("test");
  for (int rank = 0; rank < 2; ++rank) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_rank(rank);
    evidence.set_subject("train");
    evidence.set_source(std::string("a\0\xff", 3));
    evidence.mutable_shards()->add_items("x\xff");
  }
  v1::Evidence& lost = *bundle.add_evidence();
  lost.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  lost.set_outcome(v1::OUTCOME_ABSENT);
  (*lost.mutable_problem()->mutable_args())["source"] = "train.log";
  return bundle;
}

std::string Text(const google::protobuf::Message& message) {
  return message.DebugString();
}

class StoreContract : public ::testing::TestWithParam<std::string> {
 protected:
  StoreContract() {
    auto store = OpenStore(GetParam() == "sqlite" ? absl::StrCat("sqlite:", NewPath("contract")) : "memory:");
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::unique_ptr<Store> store_;
};

TEST_P(StoreContract, WhatIsPutComesBackInOrder) {
  const AuditId audit = *store_->CreateAudit("resnet", "2026-01-02");
  ASSERT_TRUE(store_->PutBundle(audit, StoredSide::kMigrated, Sample("npu-2")).ok());
  ASSERT_TRUE(store_->PutBundle(audit, StoredSide::kMigrated, Sample("npu-1")).ok());
  ASSERT_TRUE(store_->PutBundle(audit, StoredSide::kBaseline, v1::Bundle()).ok());
  auto bundles = store_->LoadBundles(audit, StoredSide::kMigrated);
  ASSERT_TRUE(bundles.ok()) << bundles.status();
  ASSERT_EQ(bundles->size(), 2u);
  EXPECT_EQ(Text((*bundles)[0]), Text(Sample("npu-2")));
  EXPECT_EQ(Text((*bundles)[1]), Text(Sample("npu-1")));
  EXPECT_EQ(store_->LoadBundles(audit, StoredSide::kBaseline)->size(), 1u);
}

TEST_P(StoreContract, EvidenceIsListedWithoutItsContent) {
  const AuditId audit = *store_->CreateAudit("a", "2026-01-02");
  ASSERT_TRUE(store_->PutBundle(audit, StoredSide::kMigrated, Sample("n1")).ok());
  ASSERT_TRUE(store_->PutBundle(audit, StoredSide::kBaseline, Sample("n0")).ok());
  auto rows = store_->ListEvidence(audit);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 6u);
  EXPECT_EQ((*rows)[0].side, StoredSide::kBaseline);
  EXPECT_EQ((*rows)[0].node, "n0");
  EXPECT_EQ((*rows)[1].rank, 1);
  EXPECT_EQ((*rows)[2].rank, std::nullopt);
  EXPECT_EQ((*rows)[2].outcome, v1::OUTCOME_ABSENT);
  EXPECT_EQ((*rows)[3].source, std::string("a\0\xff", 3));
  EXPECT_EQ((*rows)[0].digest, (*rows)[3].digest);  // same content on both nodes
  EXPECT_EQ((*rows)[0].digest.size(), 32u);
}

TEST_P(StoreContract, TheLastReportCounts) {
  const AuditId audit = *store_->CreateAudit("a", "2026-01-02");
  EXPECT_TRUE(absl::IsNotFound(store_->LoadReport(audit).status()));
  for (v1::Verdict verdict : {v1::VERDICT_PASS, v1::VERDICT_FAIL, v1::VERDICT_PASS, v1::VERDICT_FAIL}) {
    v1::Report report;
    report.set_verdict(verdict);
    ASSERT_TRUE(store_->PutReport(audit, report).ok());
  }
  EXPECT_EQ(store_->LoadReport(audit)->verdict(), v1::VERDICT_FAIL);
  EXPECT_TRUE((*store_->ListAudits())[0].has_report);
}

TEST_P(StoreContract, DeletingAnAuditLeavesTheOthers) {
  const AuditId first = *store_->CreateAudit("a", "2026-01-02");
  const AuditId second = *store_->CreateAudit("a", "2026-01-03");
  ASSERT_NE(first, second);
  ASSERT_TRUE(store_->PutBundle(first, StoredSide::kMigrated, Sample("n")).ok());
  ASSERT_TRUE(store_->PutBundle(second, StoredSide::kMigrated, Sample("n")).ok());
  ASSERT_TRUE(store_->PutReport(second, v1::Report()).ok());
  ASSERT_TRUE(store_->DeleteAudit(first).ok());
  EXPECT_EQ(store_->ListAudits()->size(), 1u);
  auto bundles = store_->LoadBundles(second, StoredSide::kMigrated);
  ASSERT_TRUE(bundles.ok()) << bundles.status();
  EXPECT_EQ(Text(bundles->at(0)), Text(Sample("n")));
  EXPECT_TRUE(store_->LoadReport(second).ok());
  EXPECT_NE(*store_->CreateAudit("b", "2026-01-04"), first);  // an id is never given twice
}

TEST_P(StoreContract, UnknownAuditsAreNotFound) {
  EXPECT_TRUE(absl::IsNotFound(store_->PutBundle(7, StoredSide::kBaseline, v1::Bundle())));
  EXPECT_TRUE(absl::IsNotFound(store_->LoadBundles(7, StoredSide::kBaseline).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ListEvidence(7).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->PutReport(7, v1::Report())));
  EXPECT_TRUE(absl::IsNotFound(store_->LoadReport(7).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteAudit(7)));
  EXPECT_TRUE(store_->ListAudits()->empty());
  EXPECT_TRUE(store_->FindDamage()->empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, StoreContract, ::testing::Values("memory", "sqlite"),
                         [](const auto& one) { return one.param; });

TEST(SqliteStore, IsThereAfterReopening) {
  const std::string uri = absl::StrCat("sqlite:", NewPath("reopen"));
  AuditId audit = 0;
  {
    auto store = OpenStore(uri);
    ASSERT_TRUE(store.ok()) << store.status();
    audit = *(*store)->CreateAudit("a", "2026-01-02");
    ASSERT_TRUE((*store)->PutBundle(audit, StoredSide::kMigrated, Sample("n")).ok());
  }
  auto store = OpenStore(uri);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(Text((*store)->LoadBundles(audit, StoredSide::kMigrated)->at(0)), Text(Sample("n")));
}

TEST(SqliteStore, SameContentIsKeptOnce) {
  const std::string path = NewPath("once");
  {
    auto store = OpenStore("sqlite:" + path);
    ASSERT_TRUE(store.ok()) << store.status();
    for (int i = 0; i < 5; ++i) {
      const AuditId audit = *(*store)->CreateAudit("a", "2026-01-02");
      ASSERT_TRUE((*store)->PutBundle(audit, StoredSide::kMigrated, Sample("n")).ok());
    }
  }
  auto raw = SqliteConnection::Open(path);
  EXPECT_EQ(*raw->ReadInt("SELECT count(*) FROM evidence"), 15);
  EXPECT_EQ(*raw->ReadInt("SELECT count(*) FROM content"), 4);  // the head, two ranks, the lost log
  EXPECT_EQ(*raw->ReadInt("PRAGMA user_version"), 1);
}

TEST(SqliteStore, DamageIsFoundAndNeverReadAsEvidence) {
  const std::string path = NewPath("damage");
  AuditId audit = 0;
  {
    auto store = OpenStore("sqlite:" + path);
    audit = *(*store)->CreateAudit("a", "2026-01-02");
    ASSERT_TRUE((*store)->PutBundle(audit, StoredSide::kMigrated, Sample("n")).ok());
  }
  {
    auto raw = SqliteConnection::Open(path);
    ASSERT_TRUE(raw->Execute("UPDATE content SET payload=zeroblob(3) WHERE id=2").ok());
  }
  auto store = OpenStore("sqlite:" + path);
  EXPECT_EQ((*store)->FindDamage()->size(), 1u);
  EXPECT_EQ((*store)->LoadBundles(audit, StoredSide::kMigrated).status().code(), absl::StatusCode::kDataLoss);
}

TEST(SqliteStore, RefusesWhatIsNotItsOwn) {
  const std::string text = NewPath("text");
  ASSERT_TRUE(WriteFileAtomically(text, std::string(4096, 'x')).ok());
  EXPECT_EQ(OpenStore("sqlite:" + text).status().code(), absl::StatusCode::kFailedPrecondition);

  const std::string other = NewPath("other");
  { ASSERT_TRUE(SqliteConnection::Open(other)->Execute("CREATE TABLE cookies(a)").ok()); }
  auto refused = OpenStore("sqlite:" + other);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("another program"));

  const std::string later = NewPath("later");
  { ASSERT_TRUE(OpenStore("sqlite:" + later).ok()); }
  { ASSERT_TRUE(SqliteConnection::Open(later)->Execute("PRAGMA user_version=99").ok()); }
  EXPECT_THAT(std::string(OpenStore("sqlite:" + later).status().message()), HasSubstr("later version"));

  EXPECT_FALSE(OpenStore("sqlite:/no/such/folder/x.db").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(OpenStore("sqlite:").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenStore("oracle:x").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenStore("/x.db").status()));
}

}  // namespace
}  // namespace paritect
