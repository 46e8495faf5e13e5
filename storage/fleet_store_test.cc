// One contract over every fleet store. What only the file can get wrong: fleet_sqlite_test.cc.
#include "storage/fleet_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "common/digest.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FleetStoreContract : public ::testing::TestWithParam<std::string> {
 protected:
  FleetStoreContract() {
    auto store = OpenTestStore(NewTestStore(GetParam()));
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::vector<std::string> Keys(absl::string_view collection, absl::string_view prefix, absl::string_view after = "") {
    std::vector<std::string> keys;
    EXPECT_TRUE(store_
                    ->Scan(collection, prefix, after,
                           [&](absl::string_view key, absl::string_view) {
                             keys.emplace_back(key);
                             return true;
                           })
                    .ok());
    return keys;
  }
  std::unique_ptr<FleetStore> store_;
};

TEST_P(FleetStoreContract, DocumentsComeBackAreReplacedAndTakenAway) {
  const std::string bytes("\0\xff/x", 4);
  EXPECT_FALSE(*store_->Get("node", "a"));
  ASSERT_TRUE(CommitOne(*store_, Documents({{"node", "a", bytes}, {"node", bytes, ""}, {"token", "a", "t"}})).ok());
  EXPECT_EQ(*store_->Get("node", "a"), bytes);
  EXPECT_EQ(*store_->Get("node", bytes), "");
  EXPECT_EQ(*store_->Get("token", "a"), "t");
  ASSERT_TRUE(CommitOne(*store_, Documents({{"node", "a", "2"}, {"token", "a", std::nullopt}})).ok());
  EXPECT_EQ(*store_->Get("node", "a"), "2");
  EXPECT_FALSE(*store_->Get("token", "a"));
  EXPECT_EQ(store_->Stats()->documents, 2);
}

TEST_P(FleetStoreContract, ScansInTheOrderOfBytesWithinAPrefix) {
  ASSERT_TRUE(CommitOne(*store_, Documents({{"node", "a/2", "1"},
                                            {"node", "a/10", "2"},
                                            {"node", "a", "3"},
                                            {"node", "a/\xff", "4"},
                                            {"node", "a/\xff\xff", "5"},
                                            {"node", "b", "6"},
                                            {"nodes", "a/3", "7"},
                                            {"node", "a0", "8"}}))
                  .ok());
  EXPECT_THAT(Keys("node", ""), ElementsAre("a", "a/10", "a/2", "a/\xff", "a/\xff\xff", "a0", "b"));
  EXPECT_THAT(Keys("node", "a/"), ElementsAre("a/10", "a/2", "a/\xff", "a/\xff\xff"));
  EXPECT_THAT(Keys("node", "a/\xff"), ElementsAre("a/\xff", "a/\xff\xff"));
  EXPECT_THAT(Keys("node", "a/", "a/10"), ElementsAre("a/2", "a/\xff", "a/\xff\xff"));
  EXPECT_THAT(Keys("node", "a/", "a"), ElementsAre("a/10", "a/2", "a/\xff", "a/\xff\xff"));
  EXPECT_THAT(Keys("node", "a/", "b"), IsEmpty());
  EXPECT_THAT(Keys("nodes", ""), ElementsAre("a/3"));
  EXPECT_THAT(Keys("nothing", ""), IsEmpty());
}

TEST_P(FleetStoreContract, ScansManyPagesStopsWhenToldAndMayBeWrittenMeanwhile) {
  WriteSet set;
  for (int i = 0; i < 3000; ++i) set.documents.push_back({"event", NumberKeyPart(i), std::string(3000, 'x'), {}});
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  int seen = 0;
  std::string last;
  ASSERT_TRUE(store_
                  ->Scan("event", "", "",
                         [&](absl::string_view key, absl::string_view) {
                           EXPECT_LT(last, key);
                           last = std::string(key);
                           // A scan holds nothing: what it visits may write.
                           if (seen % 500 == 0) {
                             EXPECT_TRUE(CommitOne(*store_, Documents({{"other", last, "x"}})).ok());
                           }
                           return ++seen < 2500;
                         })
                  .ok());
  EXPECT_EQ(seen, 2500);
}

TEST_P(FleetStoreContract, EqualContentOfAThousandNodesIsKeptOnce) {
  const std::string bytes(100'000, 'e');
  for (int node = 0; node < 1000;) {
    WriteSet set;
    for (int i = 0; i < 50; ++i) {
      set.contents.push_back({Sha256(bytes), bytes});
      set.documents.push_back({"piece", absl::StrCat("node", node++), "p", {Sha256(bytes)}});
    }
    ASSERT_TRUE(CommitOne(*store_, set).ok());
  }
  EXPECT_EQ(store_->Stats()->contents, 1);
  EXPECT_EQ(*store_->Content(Sha256(bytes)), bytes);
  EXPECT_LT(store_->Stats()->file_bytes + store_->Stats()->wal_bytes, 2'000'000);
  EXPECT_EQ(store_->Content(Sha256("other")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(*store_->HasContent(Sha256(bytes)));
  EXPECT_FALSE(*store_->HasContent(Sha256("other")));
}

TEST_P(FleetStoreContract, CompactDropsWhatNothingRefersTo) {
  WriteSet set;
  for (const char* one : {"by document", "by batch", "by two", "by none"}) set.contents.push_back({Sha256(one), one});
  set.documents.push_back({"piece", "a", "1", {Sha256("by document"), Sha256("by two")}});
  set.documents.push_back({"piece", "b", "1", {Sha256("by two")}});
  set.batches.push_back(Batch("n", 1, 1, 5, 100));
  set.batches.back().references = {Sha256("by batch")};
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_EQ(store_->Stats()->contents, 3);
  EXPECT_FALSE(*store_->HasContent(Sha256("by none")));
  // Replaced, a document refers to what it says now.
  ASSERT_TRUE(CommitOne(*store_, Documents({{"piece", "a", "2"}})).ok());
  EXPECT_EQ(*store_->DropBatches(101), 1);
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_EQ(store_->Stats()->contents, 1);
  EXPECT_EQ(*store_->Content(Sha256("by two")), "by two");
  ASSERT_TRUE(CommitOne(*store_, Documents({{"piece", "b", std::nullopt}})).ok());
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_EQ(store_->Stats()->contents, 0);
  EXPECT_THAT(*store_->Verify(), IsEmpty());
}

TEST_P(FleetStoreContract, BatchesStandInArrivalOrderAndAreContiguous) {
  WriteSet set;
  set.batches = {Batch("b", 7, 1, 3, 10), Batch("a", 1, 1, 1, 11), Batch("b", 7, 4, 4, 12), Batch("b", 9, 1, 2, 13)};
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  std::vector<std::string> all, of_b;
  const auto note = [](std::vector<std::string>& out) {
    return [&out](const BatchWrite& batch) {
      EXPECT_EQ(batch.payload, Batch(batch.node, batch.epoch, batch.first_sequence, batch.last_sequence, 0).payload);
      out.push_back(absl::StrCat(batch.node, batch.epoch, ":", batch.first_sequence, "-", batch.last_sequence, "@",
                                 batch.received_unix_ms));
      return true;
    };
  };
  ASSERT_TRUE(store_->ScanBatches("", note(all)).ok());
  ASSERT_TRUE(store_->ScanBatches("b", note(of_b)).ok());
  EXPECT_THAT(all, ElementsAre("b7:1-3@10", "a1:1-1@11", "b7:4-4@12", "b9:1-2@13"));
  EXPECT_THAT(of_b, ElementsAre("b7:1-3@10", "b7:4-4@12", "b9:1-2@13"));

  // What would double or skip a record changes nothing at all.
  const auto refused = [&](BatchWrite batch) {
    WriteSet bad = Documents({{"node", "x", "1"}});
    bad.batches.push_back(std::move(batch));
    return CommitOne(*store_, bad).code();
  };
  EXPECT_EQ(refused(Batch("b", 7, 4, 4, 20)), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(refused(Batch("b", 7, 3, 9, 20)), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(refused(Batch("b", 7, 6, 9, 20)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(refused(Batch("new", 7, 2, 9, 20)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(refused(Batch("b", 7, 5, 4, 20)), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(*store_->Get("node", "x"));

  // Dropping by age keeps the watermark.
  EXPECT_EQ(*store_->DropBatches(12), 2);
  EXPECT_EQ(store_->Stats()->batches, 2);
  EXPECT_EQ(refused(Batch("a", 1, 1, 1, 20)), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(CommitOne(*store_,
                        [] {
                          WriteSet next;
                          next.batches.push_back(Batch("a", 1, 2, 2, 21));
                          return next;
                        }())
                  .ok());
  EXPECT_THAT(*store_->Verify(), IsEmpty());
}

TEST_P(FleetStoreContract, KeepsLargeSequencesAndEpochs) {
  constexpr std::uint64_t kTop = ~std::uint64_t{0};
  WriteSet set;
  set.batches = {Batch("n", kTop, 1, kTop - 1, 1), Batch("n", kTop, kTop, kTop, 2)};
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  WriteSet again;
  again.batches = {Batch("n", kTop, kTop, kTop, 2)};
  EXPECT_EQ(CommitOne(*store_, again).code(), absl::StatusCode::kAlreadyExists);
}

TEST_P(FleetStoreContract, TheLogIsAChain) {
  for (int i = 0; i < 3; ++i) {
    WriteSet set;
    set.log = {LogEntry(absl::StrCat("first", i)), LogEntry(absl::StrCat("second\xff", i))};
    ASSERT_TRUE(CommitOne(*store_, set).ok());
  }
  std::vector<v1::AuditLogEntry> log = *store_->ReadLog(1, 100);
  ASSERT_EQ(log.size(), 6u);
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_EQ(log[i].number(), static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(CheckLogLink(i == 0 ? nullptr : &log[i - 1], log[i]), "");
  }
  EXPECT_EQ(store_->ReadLog(5, 100)->size(), 2u);
  EXPECT_EQ(store_->ReadLog(2, 3)->at(0).number(), 2);
  EXPECT_EQ(store_->ReadLog(2, 3)->size(), 3u);
  EXPECT_EQ(store_->ReadLog(7, 3)->size(), 0u);
  v1::AuditLogEntry changed = log[3];
  changed.set_outcome("ok, really");
  EXPECT_THAT(CheckLogLink(&log[2], changed), HasSubstr("log entry 4 was changed"));
  EXPECT_THAT(CheckLogLink(&log[1], log[3]), HasSubstr("log entry 3 is missing"));
  changed = log[2];
  changed.set_actor("somebody");
  ChainLogEntry(&log[1], changed);  // forged with its own hash: the next one does not follow
  EXPECT_THAT(CheckLogLink(&changed, log[3]), HasSubstr("does not follow"));
}

TEST_P(FleetStoreContract, ASetThatBreaksARuleIsRefusedWhole) {
  const auto refused = [&](WriteSet set) {
    set.documents.push_back({"node", "good", "1", {}});
    return CommitOne(*store_, set).code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(refused(Documents({{"No de", "a", "1"}})), kInvalid);
  EXPECT_EQ(refused(Documents({{"", "a", "1"}})), kInvalid);
  EXPECT_EQ(refused(Documents({{"node", "", "1"}})), kInvalid);
  EXPECT_EQ(refused(Documents({{"node", std::string(1025, 'k'), "1"}})), kInvalid);
  WriteSet digest;
  digest.contents.push_back({"short", "x"});
  EXPECT_EQ(refused(digest), kInvalid);
  WriteSet reference;
  reference.documents.push_back({"node", "a", "1", {"short"}});
  EXPECT_EQ(refused(reference), kInvalid);
  EXPECT_FALSE(*store_->Get("node", "good"));
  EXPECT_TRUE(CommitOne(*store_, Documents({{"node", std::string(1024, '\xff'), "1"}})).ok());
  EXPECT_THAT(Keys("node", ""), ElementsAre(std::string(1024, '\xff')));
}

TEST_P(FleetStoreContract, ABackupIsWholeAndOpens) {
  WriteSet set = Documents({{"node", "a", "1"}});
  set.contents.push_back({Sha256("x"), "x"});
  set.documents[0].references = {Sha256("x")};
  set.batches.push_back(Batch("n", 1, 1, 5, 100));
  set.log.push_back(LogEntry("backup"));
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  const std::string path = NewStorePath("backup");
  ASSERT_TRUE(store_->Backup(path).ok()) << store_->Backup(path);
  EXPECT_EQ(store_->Backup(path).code(), absl::StatusCode::kAlreadyExists) << "what is there stays";
  const auto copy = OpenFleetStore("sqlite:" + path);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(*(*copy)->Get("node", "a"), "1");
  EXPECT_EQ(*(*copy)->Content(Sha256("x")), "x");
  EXPECT_EQ((*copy)->Stats()->batches, 1);
  EXPECT_EQ((*copy)->ReadLog(1, 10)->at(0).hash(), store_->ReadLog(1, 10)->at(0).hash());
  EXPECT_THAT(*(*copy)->Verify(), IsEmpty());
  ASSERT_TRUE((*copy)->Compact().ok());
  EXPECT_TRUE(*(*copy)->HasContent(Sha256("x")));
  const absl::Status nowhere = store_->Backup("/nonexistent/folder/backup");
  EXPECT_TRUE(absl::IsNotFound(nowhere) || absl::IsPermissionDenied(nowhere)) << nowhere;
}

TEST_P(FleetStoreContract, ManyThreadsReadWhileOneWrites) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        // Both documents are written by one commit: a snapshot shows them equal or the second newer.
        const auto first = store_->Get("run", "first");
        const auto second = store_->Get("run", "second");
        ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
        ASSERT_LE(first->value_or(""), second->value_or(""));
        ASSERT_TRUE(store_->ScanBatches("n", [](const BatchWrite&) { return true; }).ok());
      }
    });
  }
  for (int i = 1; i <= 80; ++i) {
    WriteSet set = Documents({{"run", "first", NumberKeyPart(i)}, {"run", "second", NumberKeyPart(i)}});
    set.batches.push_back(Batch("n", 1, i, i, i));
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    ASSERT_EQ(*store_->Get("run", "first"), NumberKeyPart(i)) << "what is committed is read by the next call";
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_THAT(*store_->Verify(), IsEmpty());
}

// Two leaves below each of two nodes, these below a root; children first.
struct SmallTree {
  SmallTree() {
    std::string level2;
    for (int node = 0; node < 2; ++node) {
      std::string level1;
      for (int leaf = 0; leaf < 2; ++leaf) {
        const std::string bytes = absl::StrCat("leaf ", node, leaf);
        contents.push_back({Sha256(bytes), bytes});
        level1 += Sha256(bytes);
      }
      contents.push_back({Sha256(level1), level1, 1});
      level2 += Sha256(level1);
    }
    contents.push_back({Sha256(level2), level2, 2});
    root = Sha256(level2);
  }
  std::vector<ContentWrite> contents;
  std::string root;
};

TEST_P(FleetStoreContract, ANodeStandsForAllBelowIt) {
  const SmallTree tree;
  WriteSet set;
  set.contents = tree.contents;
  set.documents.push_back({"piece", "p", "1", {tree.root}});
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  EXPECT_TRUE(*store_->HasNode(tree.root, 2));
  EXPECT_FALSE(*store_->HasNode(tree.root, 1));
  EXPECT_TRUE(*store_->HasContent(tree.root));
  EXPECT_FALSE(*store_->HasNode(tree.contents[0].sha256, 1));
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_EQ(store_->Stats()->contents, 7) << "referred to through nodes";
  EXPECT_TRUE(store_->Verify()->empty());
  // Half of it by another document.
  ASSERT_TRUE(CommitOne(*store_, Documents({{"piece", "p", std::nullopt}})).ok());
  WriteSet half;
  half.documents.push_back({"lease", "l", "1", {tree.contents[2].sha256}});
  ASSERT_TRUE(CommitOne(*store_, half).ok());
  ASSERT_TRUE(store_->Compact().ok());
  EXPECT_EQ(store_->Stats()->contents, 3);
  EXPECT_FALSE(*store_->HasNode(tree.root, 2));
  EXPECT_TRUE(*store_->HasNode(tree.contents[2].sha256, 1));
}

TEST_P(FleetStoreContract, ANodeWithoutItsChildrenIsLeftOut) {
  const SmallTree tree;
  WriteSet set;
  set.contents.push_back(tree.contents.back());
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  EXPECT_FALSE(*store_->HasContent(tree.root));
  // A content that has the bytes of a node is none: it says nothing of its children.
  set.contents = {tree.contents[2], tree.contents[5]};
  for (ContentWrite& one : set.contents) one.level = 0;
  set.contents.push_back(tree.contents.back());
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  EXPECT_FALSE(*store_->HasNode(tree.root, 2));
  // And becomes one when they come.
  set.contents = tree.contents;
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  EXPECT_TRUE(*store_->HasNode(tree.root, 2));
  EXPECT_TRUE(*store_->HasNode(tree.contents[2].sha256, 1));
  EXPECT_EQ(store_->Stats()->contents, 7);
  set.contents = {{Sha256("x"), "x", 1}};
  EXPECT_EQ(CommitOne(*store_, set).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(FleetStoreContract, ACopyHasTheNodesToo) {
  const SmallTree tree;
  WriteSet set;
  set.contents = tree.contents;
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  const std::string path = NewStorePath("copy");
  ASSERT_TRUE(store_->Backup(path).ok());
  const auto copy = OpenFleetStore("sqlite:" + path);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_TRUE(*(*copy)->HasNode(tree.root, 2));
}

TEST_P(FleetStoreContract, CompactDropsNothingThatIsBeingWritten) {
  std::atomic<bool> stop = false;
  std::thread compactor([&] {
    while (!stop) ASSERT_TRUE(store_->Compact().ok());
  });
  for (int i = 0; i < 120; ++i) {
    // Refers now to a content that was written long ago and that nothing has held since.
    const std::string bytes = absl::StrCat("content", i % 10);
    WriteSet set;
    set.contents.push_back({Sha256(bytes), bytes});
    set.documents.push_back({"piece", "p", "x", {Sha256(bytes)}});
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    ASSERT_TRUE(*store_->HasContent(Sha256(bytes))) << i;
  }
  stop = true;
  compactor.join();
}

INSTANTIATE_TEST_SUITE_P(Backends, FleetStoreContract, ::testing::ValuesIn(TestBackends()),
                         [](const auto& param_info) { return param_info.param; });

TEST(FleetStore, RefusesAnUnknownScheme) {
  EXPECT_THAT(OpenFleetStore("postgres://x").status().message(), HasSubstr("memory:, sqlite:"));
  EXPECT_EQ(OpenFleetStore("").status().code(), absl::StatusCode::kInvalidArgument);
}

// Two implementations that share nothing must agree on any sequence of calls.
TEST_P(FleetStoreContract, ItAndTheModelAgree) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    const auto file = *OpenTestStore(NewTestStore(GetParam()));
    const auto model = *OpenFleetStore("memory:");
    for (int step = 0; step < 150; ++step) {
      WriteSet set;
      for (unsigned i = random() % 4; i > 0; --i) {
        const std::string content = absl::StrCat("c", random() % 8);
        set.contents.push_back({Sha256(content), content});
        DocumentWrite& document = set.documents.emplace_back();
        document.collection = random() % 2 == 0 ? "a" : "b";
        document.key = std::string(1 + random() % 3, static_cast<char>("\x01/a\xff"[random() % 4]));
        if (random() % 4 != 0) document.value = absl::StrCat(step);
        if (random() % 2 == 0) document.references = {Sha256(absl::StrCat("c", random() % 8))};
      }
      if (random() % 3 == 0) set.batches.push_back(Batch("n", random() % 2, 1 + random() % 9, 9, step));
      if (random() % 5 == 0) set.log.push_back(LogEntry(absl::StrCat(step)));
      EXPECT_EQ(CommitOne(*file, set).code(), CommitOne(*model, set).code());
      if (random() % 10 == 0) {
        EXPECT_TRUE(file->Compact().ok() && model->Compact().ok());
      }
      if (random() % 20 == 0) {
        EXPECT_EQ(*file->DropBatches(step - 20), *model->DropBatches(step - 20));
      }
    }
    EXPECT_EQ(Dump(*file), Dump(*model)) << "seed " << seed;
    EXPECT_THAT(*file->Verify(), IsEmpty());
  }
}

TEST(FleetKeys, PartsComeBackAndSortByNumber) {
  const std::string part("a/b%\n\0\x7f\xff", 9);
  const std::string key = TaskEndKey(part, "n/1");
  EXPECT_EQ(*SplitKey(key), (std::vector<std::string>{part, "n/1"}));
  EXPECT_FALSE(SplitKey("a%2"));
  EXPECT_FALSE(SplitKey("a%zz"));
  EXPECT_LT(PieceKey({"t", "n", 1, 9}, 10), PieceKey({"t", "n", 1, 10}, 9));
  EXPECT_LT(PieceKey({"t", "n", 1, 9}, 9), PieceKey({"t", "n", 1, 9}, 10));
  EXPECT_EQ(WatermarkKey("n", 255), "n/00000000000000ff");
  EXPECT_EQ(SeriesKey("r", std::nullopt, "n"), "r/-/n");
  EXPECT_EQ(SeriesKey("r", 7, "n"), "r/0000000007/n");
}

}  // namespace
}  // namespace paritect
