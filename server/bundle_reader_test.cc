#include "server/bundle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/evidence_parts.h"
#include "server/audits/audits.h"
#include "server/ingest.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

v1::Bundle Sample() {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("npu");
  bundle.mutable_plan()->set_node("n1");
  bundle.set_collected_by("paritect-agent 1");
  bundle.set_collected_at_unix_ms(77);
  for (int i = 0; i < 12; ++i) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_source(absl::StrCat("/data/", i));
    for (int item = 0; item < i * 5000; ++item) evidence.mutable_shards()->add_items(absl::StrCat("shard", item));
  }
  return bundle;
}

// What an agent would send of it.
v1::Batch AsBatch(v1::Bundle bundle, const std::string& task) {
  v1::Batch batch;
  batch.set_epoch(5);
  const auto add = [&](const v1::Record& record) {
    v1::Envelope& envelope = *batch.add_envelopes();
    envelope.set_sequence(static_cast<std::uint64_t>(batch.envelopes_size()));
    envelope.set_record(record.SerializeAsString());
  };
  v1::Record end;
  for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
    EvidenceParts apart = *TakeApart(evidence);
    for (const EvidenceParts::Content& one : apart.contents) {
      v1::Record part;
      part.mutable_part()->set_sha256(one.sha256);
      part.mutable_part()->set_content(one.bytes);
      add(part);
    }
    for (const TreeNode& node : apart.tree.order) {
      v1::Record part;
      part.mutable_part()->set_sha256(node.sha256);
      part.mutable_part()->set_content(apart.tree.nodes.at(node.sha256));
      part.mutable_part()->set_level(node.level);
      add(part);
    }
    v1::Record piece;
    *piece.mutable_piece() = apart.piece;
    piece.mutable_piece()->set_task_id(task);
    piece.mutable_piece()->set_attempt(1);
    piece.mutable_piece()->set_index(end.task_end().pieces());
    end.mutable_task_end()->set_pieces(end.task_end().pieces() + 1);
    add(piece);
  }
  end.mutable_task_end()->set_task_id(task);
  end.mutable_task_end()->set_attempt(1);
  *end.mutable_task_end()->mutable_plan() = bundle.plan();
  end.mutable_task_end()->set_program(bundle.collected_by());
  end.mutable_task_end()->set_collected_at_unix_ms(bundle.collected_at_unix_ms());
  add(end);
  return batch;
}

class BundleReaderTest : public ::testing::Test {
 protected:
  void Deliver(const std::string& task) {
    ASSERT_TRUE(CommitOne(*store_, IngestBatch("n1", {}, AsBatch(Sample(), task), 1)->set).ok());
  }
  const std::unique_ptr<FleetStore> store_ = *OpenFleetStore("memory:");
};

TEST_F(BundleReaderTest, WhatANodeSentComesTogether) {
  Deliver("audit#1/0");
  // Its piece refers to them: they stay when the batches are gone.
  ASSERT_TRUE(store_->DropBatches(1000).ok());
  ASSERT_TRUE(store_->Compact().ok());
  const auto stored = CollectedBundle(*store_, "audit#1/0", "n1");
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto bundle = LoadBundle(*store_, *stored);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->SerializeAsString(), Sample().SerializeAsString());
  EXPECT_EQ(CollectedBundle(*store_, "other", "n1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CollectedBundle(*store_, "audit#1/0", "n2").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(BundleReaderTest, AMissingPieceOrPartIsSaid) {
  Deliver("t");
  const auto stored = *CollectedBundle(*store_, "t", "n1");
  ASSERT_TRUE(CommitOne(*store_, Documents({{"piece", PieceKey({"t", "n1", 5, 1}, 11), std::nullopt}})).ok());
  const absl::Status last = CollectedBundle(*store_, "t", "n1").status();
  EXPECT_EQ(last.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(last.message(), HasSubstr("11 pieces of task t of node n1 are there; it stated 12"));
  ASSERT_TRUE(CommitOne(*store_, Documents({{"piece", PieceKey({"t", "n1", 5, 1}, 3), std::nullopt}})).ok());
  EXPECT_THAT(CollectedBundle(*store_, "t", "n1").status().message(),
              HasSubstr("piece 3 of task t of node n1 is missing"));
  ASSERT_TRUE(store_->DropBatches(1000).ok());
  ASSERT_TRUE(store_->Compact().ok());
  const absl::Status lost = LoadBundle(*store_, stored).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(lost.message(), HasSubstr("piece 3 (EVIDENCE_KIND_SHARDS of /data/3): part"));
}

// All evidence of an audit is in memory at once: what one bundle costs is not there for the next.
TEST_F(BundleReaderTest, BundlesShareABudget) {
  Deliver("t");
  const auto stored = *CollectedBundle(*store_, "t", "n1");
  MessageBudget budget;
  ASSERT_TRUE(LoadBundle(*store_, stored, budget).ok());
  const std::uint64_t cost = MessageBudget().entries - budget.entries;
  EXPECT_GT(cost, 0u);
  budget.entries = cost + cost / 2;
  EXPECT_TRUE(LoadBundle(*store_, stored, budget).ok());
  EXPECT_EQ(LoadBundle(*store_, stored, budget).status().code(), absl::StatusCode::kResourceExhausted);
}

v1::Bundle Listed(const std::string& node, const std::string& root, int files) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_node(node);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(root);
  v1::FileList& list = *evidence.mutable_files();
  list.set_dataset("train");
  list.set_root(root);
  for (int i = 0; i < files; ++i) {
    v1::FileEntry& file = *list.add_files();
    file.set_path(absl::StrCat("shard-", 100'000 + i));
    file.set_md5(std::string(16, static_cast<char>('a' + i % 20)));
  }
  return bundle;
}

TEST_F(BundleReaderTest, AListThatManyHoldIsReadOnceAndKeptOnce) {
  std::vector<v1::Bundle> bundles = {Listed("a", "/one", 5000), Listed("b", "/two", 5000), Listed("c", "/one", 4999)};
  ListsInCommon lists;
  std::vector<v1::Bundle> loaded;
  MessageBudget budget;
  std::vector<std::uint64_t> costs;
  for (v1::Bundle& bundle : bundles) {
    WriteSet set;
    const v1::StoredBundle stored = *StoreBundle(bundle, set);
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    const std::uint64_t before = budget.entries;
    auto read = LoadBundle(*store_, stored, budget, lists);
    ASSERT_TRUE(read.ok()) << read.status();
    costs.push_back(before - budget.entries);
    loaded.push_back(*std::move(read));
  }
  EXPECT_EQ(loaded[0].SerializeAsString(), bundles[0].SerializeAsString());
  EXPECT_EQ(loaded[1].evidence(0).files().files_size(), 0);
  EXPECT_LT(costs[1], 100u);
  EXPECT_EQ(loaded[1].evidence(0).files().root(), "/two");
  EXPECT_EQ(&lists.shared->FilesOf(loaded[1].evidence(0).files()), &loaded[0].evidence(0).files().files());
  EXPECT_EQ(loaded[2].SerializeAsString(), bundles[2].SerializeAsString());
}

// A bundle that is given up half read leaves nothing behind for which another could stand.
TEST_F(BundleReaderTest, NobodyStandsForABundleThatIsDamaged) {
  v1::Bundle damaged = Listed("a", "/one", 5000);
  *damaged.add_evidence() = Listed("a", "/lost", 3000).evidence(0);
  WriteSet set;
  v1::StoredBundle stored = *StoreBundle(damaged, set);
  v1::Bundle whole = Listed("b", "/two", 5000);
  const v1::StoredBundle other = *StoreBundle(whole, set);
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  stored.mutable_pieces(1)->set_sha256(std::string(32, 'x'));
  ListsInCommon lists;
  MessageBudget budget;
  EXPECT_EQ(LoadBundle(*store_, stored, budget, lists).status().code(), absl::StatusCode::kDataLoss);
  const auto read = LoadBundle(*store_, other, budget, lists);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), whole.SerializeAsString());
}

TEST_F(BundleReaderTest, AnImportedBundleIsKeptOnce) {
  v1::Bundle bundle = Sample();
  std::string keys[2];
  for (std::string& key : keys) {
    WriteSet set;
    const v1::StoredBundle stored = *StoreBundle(bundle, set);
    key = AddBundleDocument(stored, set);
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    ASSERT_TRUE(store_->Compact().ok());
    EXPECT_EQ(LoadBundle(*store_, stored)->SerializeAsString(), Sample().SerializeAsString());
  }
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(store_->Stats()->documents, 1);
}

}  // namespace
}  // namespace paritect
