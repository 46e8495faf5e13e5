// data.sharding.*: bundles of shard lists in, verdicts and kinds out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/shards/fixture.h"
#include "checks/shards/view.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(Sharding, EqualListsUnderOtherRootsPass) {
  const Audit audit({RunOf("gpu", Stride(Files(10), 4))}, {RunOf("npu", Stride(Files(10, "/home/ma-user/y/"), 4))});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
  EXPECT_THAT(audit.Kinds("complete"), Contains("expected_from_union"));
  EXPECT_EQ(audit.Verdict("balance"), v1::VERDICT_PASS);
}

TEST(Sharding, ADeeperRootOnOneSideStillMeets) {
  // The migrated side reads nothing but train/: its deepest common folder is one deeper.
  const Items both = {"/d/train/a", "/d/train/b", "/d/val/c"};
  const Audit audit({RunOf("gpu", Stride(both, 1))}, {RunOf("npu", Stride({"/e/train/a", "/e/train/b"}, 1))});
  EXPECT_THAT(audit.Subjects("complete", "not_read"), UnorderedElementsAre("val/c"));
}

TEST(Sharding, StrideAgainstBlock) {
  const Audit audit({RunOf("gpu", Stride(Files(30), 8))}, {RunOf("npu", Block(Files(30), 8))});
  EXPECT_EQ(audit.Verdicts(), "PPPFF");
  EXPECT_THAT(audit.Kinds("rule"), UnorderedElementsAre("split_rule_differs"));
}

TEST(Sharding, NaturalOrderAgainstByteOrder) {
  const Items natural = {"f1", "f2", "f3", "f9", "f10", "f11", "f20", "f100"};
  Items bytes = natural;
  std::sort(bytes.begin(), bytes.end());
  const Audit audit({RunOf("gpu", Stride(bytes, 2))}, {RunOf("npu", Stride(natural, 2))});
  EXPECT_EQ(audit.Verdicts(), "PPPFF");
  EXPECT_THAT(audit.Kinds("rule"), UnorderedElementsAre("order_rule_differs"));
}

TEST(Sharding, EqualPaddingOnBothSidesIsANote) {
  const Audit audit({RunOf("gpu", Stride(Numbers(10), 4, true))}, {RunOf("npu", Stride(Numbers(10), 4, true))});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
  EXPECT_THAT(audit.Kinds("disjoint"), UnorderedElementsAre("padding"));
}

TEST(Sharding, PaddingOnTheMigratedSideAloneFails) {
  const Audit audit({RunOf("gpu", Stride(Numbers(10), 4))}, {RunOf("npu", Stride(Numbers(10), 4, true))});
  EXPECT_EQ(audit.Verdict("disjoint"), v1::VERDICT_FAIL);
  EXPECT_THAT(audit.Subjects("disjoint", "read_twice"), UnorderedElementsAre("0", "1"));
  EXPECT_THAT(audit.Kinds("rule"), UnorderedElementsAre("split_rule_differs"));
}

TEST(Sharding, PaddingWithAnotherWorldSizeIsLegal) {
  const Audit audit({RunOf("gpu", Stride(Numbers(10), 4, true))}, {RunOf("npu", Stride(Numbers(10), 3, true))});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
  EXPECT_THAT(audit.Kinds("same-assignment"), UnorderedElementsAre("compared_by_rule"));
  const Audit even({RunOf("gpu", Stride(Numbers(10), 4, true))}, {RunOf("npu", Stride(Numbers(10), 5, true))});
  EXPECT_EQ(even.Verdicts(), "PPPPP");
}

TEST(Sharding, DroppedTailIsNotRead) {
  std::vector<Items> dropped = Stride(Numbers(10), 4);
  for (Items& list : dropped) list.resize(2);
  const Audit audit({RunOf("gpu", Stride(Numbers(10), 4, true))}, {RunOf("npu", dropped)});
  EXPECT_THAT(audit.Subjects("complete", "not_read"), UnorderedElementsAre("8", "9"));
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_FAIL);
}

TEST(Sharding, AnotherWorldSizeIsComparedByRule) {
  const Audit same({RunOf("gpu", Stride(Files(24), 4))}, {RunOf("npu", Stride(Files(24), 8))});
  EXPECT_EQ(same.Verdicts(), "PPPPP");
  const Audit split({RunOf("gpu", Stride(Files(24), 4))}, {RunOf("npu", Block(Files(24), 8))});
  EXPECT_EQ(split.Verdicts(), "PPPFF");
  // One shuffle on both sides: the same sequence, other ranks.
  const Items shuffled = {"f7", "f2", "f9", "f1", "f8", "f3", "f6", "f4"};
  const Audit shuffle({RunOf("gpu", Stride(shuffled, 2))}, {RunOf("npu", Stride(shuffled, 4))});
  EXPECT_EQ(shuffle.Verdict("same-assignment"), v1::VERDICT_PASS);
  // Two shuffles: nothing can be told.
  const Items other = {"f3", "f9", "f2", "f8", "f4", "f7", "f1", "f6"};
  const Audit unknown({RunOf("gpu", Stride(shuffled, 2))}, {RunOf("npu", Stride(other, 4))});
  EXPECT_EQ(unknown.Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
}

TEST(Sharding, NodesThatSortDifferently) {
  const Items bytes = {"A", "B", "C", "a1", "b1", "c1", "d", "e"}, locale = {"A", "a1", "B", "b1", "C", "c1", "d", "e"};
  v1::Bundle first = NodeOf("npu", "npu0", 4), second = NodeOf("npu", "npu1", 4);
  for (int rank : {0, 1}) AddList(first, rank, Stride(bytes, 4)[rank]);
  for (int rank : {2, 3}) AddList(second, rank, Stride(locale, 4)[rank]);
  const Audit audit({RunOf("gpu", Stride(bytes, 4))}, {first, second});
  EXPECT_EQ(audit.Verdict("disjoint"), v1::VERDICT_FAIL);
  EXPECT_EQ(audit.Verdict("complete"), v1::VERDICT_FAIL);
  EXPECT_THAT(audit.Kinds("rule"), UnorderedElementsAre("node_order"));
}

TEST(Sharding, RanksThatShuffleDifferently) {
  const Items one = {"a", "b", "c", "d", "e", "f", "g", "h"}, two = {"a", "b", "d", "c", "e", "f", "h", "g"};
  const Audit audit({RunOf("gpu", Stride(one, 2))}, {RunOf("npu", {Stride(one, 2)[0], Stride(two, 2)[1]})});
  EXPECT_THAT(audit.Kinds("rule"), UnorderedElementsAre("rank_order"));
}

TEST(Sharding, EveryRankReadsEverything) {
  const Audit audit({RunOf("gpu", Stride(Files(6), 3))}, {RunOf("npu", {Files(6), Files(6), Files(6)})});
  EXPECT_THAT(audit.Kinds("disjoint"), UnorderedElementsAre("not_sharded"));
  EXPECT_EQ(audit.Verdict("complete"), v1::VERDICT_PASS);
  EXPECT_THAT(audit.Kinds("rule"), Not(Contains("rank_order")));
}

TEST(Sharding, MissingRanksAreNeverAPass) {
  std::vector<Items> lists = Stride(Files(8), 4);
  lists.pop_back();
  const Audit audit({RunOf("gpu", Stride(Files(8), 4))}, {RunOf("npu", lists, 4)});
  EXPECT_EQ(audit.Verdicts(), "NNNNN");
  EXPECT_THAT(audit.Kinds("complete"), Not(Contains("not_read")));  // rank 3 may have read it
}

TEST(Sharding, AnErrorStandsOnPartialEvidence) {
  std::vector<Items> lists = Stride(Files(8), 4);
  lists.pop_back();
  lists[2] = lists[1];
  const Audit audit({RunOf("gpu", Stride(Files(8), 4))}, {RunOf("npu", lists, 4)});
  EXPECT_EQ(audit.Verdict("disjoint"), v1::VERDICT_FAIL);
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_FAIL);
  EXPECT_EQ(audit.Verdict("ranks"), v1::VERDICT_NOT_PERFORMED);
}

TEST(Sharding, RanksOutOfRangeTwiceAndOnTwoNodes) {
  v1::Bundle beyond = RunOf("npu", Stride(Files(8), 4));
  AddList(beyond, 4, {"/data/x/z"});
  EXPECT_THAT(Audit({RunOf("gpu", Stride(Files(8), 4))}, {beyond}).Kinds("ranks"),
              UnorderedElementsAre("rank_out_of_range"));

  v1::Bundle twice = RunOf("npu", Stride(Files(8), 4));
  AddList(twice, 1, {"/data/x/other"});
  EXPECT_THAT(Audit({RunOf("gpu", Stride(Files(8), 4))}, {twice}).Kinds("ranks"), UnorderedElementsAre("rank_twice"));

  v1::Bundle again = RunOf("npu", Stride(Files(8), 4));
  AddList(again, 1, Stride(Files(8), 4)[1]);  // the same list found by two patterns
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Files(8), 4))}, {again}).Verdicts(), "PPPPP");

  v1::Bundle other = NodeOf("npu", "n1", 4);
  AddList(other, 1, Stride(Files(8), 4)[1]);
  const Audit claimed({RunOf("gpu", Stride(Files(8), 4))}, {RunOf("npu", Stride(Files(8), 4)), other});
  EXPECT_THAT(claimed.Kinds("ranks"), UnorderedElementsAre("rank_on_two_nodes"));
  EXPECT_THAT(claimed.Kinds("rule"), Not(Contains("node_order")));
}

TEST(Sharding, WorldSizes) {
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Files(8), 4))}, {RunOf("npu", Stride(Files(8), 4), 0)}).Verdict("ranks"),
            v1::VERDICT_NOT_PERFORMED);
  v1::Bundle stated = RunOf("npu", Stride(Files(8), 4));
  for (v1::Evidence& evidence : *stated.mutable_evidence()) evidence.mutable_shards()->set_world_size(8);
  EXPECT_THAT(Audit({RunOf("gpu", Stride(Files(8), 4))}, {stated}).Kinds("ranks"), Contains("world_size_mismatch"));
  // One rank of many that states another world, wherever its list stands.
  for (const int odd : {0, 2, 3}) {
    v1::Bundle one = RunOf("npu", Stride(Files(8), 4), 0);
    for (int i = 0; i < one.evidence_size(); ++i) {
      one.mutable_evidence(i)->mutable_shards()->set_world_size(i == odd ? 8 : 4);
    }
    const Audit audit({RunOf("gpu", Stride(Files(8), 4))}, {one});
    EXPECT_THAT(audit.Kinds("ranks"), Contains("world_size_mismatch")) << odd;
    EXPECT_EQ(audit.Verdict("ranks"), v1::VERDICT_FAIL);
  }

  v1::Bundle environment = RunOf("npu", Stride(Files(8), 4), 0);
  v1::Evidence& settings = *environment.add_evidence();
  settings.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  settings.set_outcome(v1::OUTCOME_COLLECTED);
  v1::Setting& setting = *settings.mutable_settings()->add_settings();
  setting.set_raw_key("WORLD_SIZE");
  setting.set_raw_value("4");
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Files(8), 4))}, {environment}).Verdicts(), "PPPPP");

  v1::Bundle hostile = RunOf("npu", Stride(Files(8), 4));
  for (v1::Evidence& evidence : *hostile.mutable_evidence()) evidence.mutable_shards()->set_world_size(INT32_MAX);
  EXPECT_EQ(Audit({hostile}, {hostile}).Verdict("ranks"), v1::VERDICT_FAIL);
}

TEST(Sharding, ResumeWithAnotherWorldSize) {
  v1::Bundle resumed = NodeOf("npu", "n0", 0);
  const auto add = [&](int segment, int world, int rank, const Items& items) {
    v1::ShardList& list = AddList(resumed, rank, items);
    list.set_segment(segment);
    list.set_world_size(world);
    list.set_format("index-log");
  };
  add(0, 1, 0, {"0", "1", "2", "3"});
  add(1, 2, 0, {"8", "9"});
  add(1, 2, 1, {"10", "11"});
  const Audit audit({RunOf("gpu", {Numbers(12)})}, {resumed});
  EXPECT_THAT(audit.Kinds("ranks"), UnorderedElementsAre("world_size_changed"));
  EXPECT_THAT(audit.Subjects("complete", "not_read"), UnorderedElementsAre("4", "5", "6", "7"));
}

TEST(Sharding, ExpectedFromTheListOfTheDataSet) {
  v1::Bundle baseline = RunOf("gpu", Stride(Files(8), 2));
  v1::Evidence& evidence = *baseline.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_subject("train");
  evidence.mutable_files()->set_dataset("train");
  for (const std::string& path : Files(9, "")) evidence.mutable_files()->add_files()->set_path(path);
  const Audit audit({baseline}, {RunOf("npu", Stride(Files(8, "/other/"), 2))});
  EXPECT_EQ(audit.Verdict("complete"), v1::VERDICT_FAIL);
  EXPECT_THAT(audit.Subjects("complete", "not_read"), UnorderedElementsAre("part-08.tar", "part-08.tar"));
  EXPECT_THAT(audit.Kinds("complete"), Not(Contains("expected_from_union")));
}

TEST(Sharding, RecordingsThatEndBeforeAnEpochAreNoError) {
  const std::vector<Items> early = {{"5", "900", "17"}, {"44", "3", "700"}};
  const Audit audit({RunOf("gpu", early)}, {RunOf("npu", early)});
  EXPECT_EQ(audit.Verdicts(), "PNPPP");  // what comes later is not in the evidence
  EXPECT_THAT(audit.Kinds("complete"), UnorderedElementsAre("not_read"));
}

TEST(Sharding, ARecordingByStepThatWasStoppedEarlierIsNotJudged) {
  const auto make = [](absl::string_view run, int count) {
    v1::Bundle bundle = NodeOf(run, "n0", 1);
    AddList(bundle, 0, Numbers(count)).set_format("index-log");
    return bundle;
  };
  EXPECT_EQ(Audit({make("gpu", 8)}, {make("npu", 4)}).Verdicts(), "PNPNP");
  EXPECT_EQ(Audit({make("gpu", 4)}, {make("npu", 8)}).Verdicts(), "PNPNP");
}

TEST(Sharding, EpochsAreComparedOneByOne) {
  const auto make = [](absl::string_view run, const std::vector<std::vector<Items>>& epochs) {
    v1::Bundle bundle = NodeOf(run, "n0", 2);
    for (std::size_t e = 0; e < epochs.size(); ++e) {
      for (int rank : {0, 1}) AddList(bundle, rank, epochs[e][rank]).set_epoch(static_cast<int>(e));
    }
    return bundle;
  };
  const std::vector<Items> first = Stride({"c", "a", "d", "b"}, 2), second = Stride({"b", "d", "a", "c"}, 2);
  EXPECT_EQ(Audit({make("gpu", {first, second})}, {make("npu", {first, second})}).Verdicts(), "PPPPP");
  const Audit differs({make("gpu", {first, second})}, {make("npu", {first, first})});
  EXPECT_EQ(differs.Verdicts(), "PPPFF");
}

TEST(Sharding, OneSideAloneAndOtherLabels) {
  const Audit alone({}, {RunOf("npu", Stride(Files(8), 4))});
  EXPECT_EQ(alone.Verdicts(), "NNNNN");
  const Audit doubled({}, {RunOf("npu", {Files(4), Files(4)})});
  EXPECT_EQ(doubled.Verdict("disjoint"), v1::VERDICT_FAIL);
  v1::Bundle labelled = NodeOf("npu", "n0", 1);
  AddList(labelled, 0, Files(4), "val");
  EXPECT_EQ(Audit({RunOf("gpu", {Files(4)})}, {labelled}).Verdicts(), "NNNNN");
  v1::Bundle unlabelled = NodeOf("npu", "n0", 1);
  AddList(unlabelled, 0, Files(4), "");
  EXPECT_EQ(Audit({RunOf("gpu", {Files(4)})}, {unlabelled}).Verdicts(), "PPPPP");
}

TEST(Sharding, EmptyListsAndListsWithoutARank) {
  const Audit empty({RunOf("gpu", {{}, {}})}, {RunOf("npu", {{}, {}})});
  EXPECT_EQ(empty.Verdict("ranks"), v1::VERDICT_NOT_PERFORMED);
  v1::Bundle unranked = NodeOf("npu", "n0", 0);
  AddList(unranked, -1, Files(4));
  EXPECT_EQ(Audit({RunOf("gpu", {Files(4)})}, {unranked}).Verdict("ranks"), v1::VERDICT_NOT_PERFORMED);
  // More ranks than files: some lists are empty, and that is seen as imbalance only.
  const Audit few({RunOf("gpu", Stride(Files(2), 4))}, {RunOf("npu", Stride(Files(2), 4))});
  EXPECT_EQ(few.Verdicts(), "PPPPP");
  EXPECT_THAT(few.Kinds("balance"), Contains("unbalanced"));
}

TEST(Sharding, ListsThatAreNotWholeNeverPass) {
  v1::Bundle cut = RunOf("npu", Stride(Files(8), 2));
  cut.mutable_evidence(0)->mutable_shards()->add_incomplete()->set_id("shard_list_incomplete");
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Files(8), 2))}, {cut}).Verdicts(), "NNNNN");
}

TEST(Sharding, NamesAreBytes) {
  const Audit audit({RunOf("gpu", Stride({"/d/\xff", "/d/\xfe", "/d/a b"}, 1))},
                    {RunOf("npu", Stride({"./e/\xff", "./e/\xfe", "./e/a b"}, 1))});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
}

TEST(Sharding, OneFileUnderTwoSpellingsIsReadTwice) {
  const std::vector<Items> plain = {{"d/s/a", "d/s/b"}, {"d/s/c", "d/s/e"}};
  for (const char* again : {"d//s/a", "d/./s/a", "./d/s/a", "d/x/../s/a", "d/s//a"}) {
    std::vector<Items> lists = plain;
    lists[1].push_back(again);
    const Audit twice({RunOf("gpu", plain)}, {RunOf("npu", lists)});
    EXPECT_THAT(twice.Subjects("disjoint", "read_twice"), UnorderedElementsAre("a")) << again;
  }
  for (const absl::string_view root : {"/m//s/", "/m/./s/", "s3://x/"}) {
    EXPECT_EQ(Audit({RunOf("g", Stride(Files(8), 2))}, {RunOf("n", Stride(Files(8, root), 2))}).Verdicts(), "PPPPP");
  }
}

TEST(Sharding, AFolderOfTheDataSetThatWasNotReadLeavesCompleteOpen) {
  v1::Bundle baseline = RunOf("gpu", Stride(Files(8), 2));
  v1::Evidence& evidence = *baseline.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_subject("train");
  for (const std::string& path : Files(8, "")) evidence.mutable_files()->add_files()->set_path(path);
  v1::Bundle unread = baseline, unseen = baseline;
  const int last = baseline.evidence_size() - 1;
  unread.mutable_evidence(last)->mutable_files()->add_unread_folders()->set_path("more");
  v1::FileEntry& link = *unseen.mutable_evidence(last)->mutable_files()->mutable_files(0);
  link.set_type(v1::FILE_TYPE_SYMLINK);
  link.mutable_error()->set_id("folder_link_not_entered");
  const v1::Bundle migrated = RunOf("npu", Stride(Files(8), 2));
  EXPECT_EQ(Audit({baseline}, {migrated}).Verdict("complete"), v1::VERDICT_PASS);
  EXPECT_EQ(Audit({unread}, {migrated}).Verdict("complete"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Audit({unseen}, {migrated}).Verdict("complete"), v1::VERDICT_NOT_PERFORMED);
}

TEST(Sharding, AnEpochThatOneSideAloneRecordedIsNotPassed) {
  v1::Bundle one = NodeOf("npu", "n0", 1), two = NodeOf("gpu", "n0", 1), unnumbered = NodeOf("npu", "n0", 1);
  AddList(one, 0, {"a", "c", "b"}).set_epoch(0);
  AddList(two, 0, {"a", "c", "b"}).set_epoch(0);
  AddList(two, 0, {"b", "a", "c"}).set_epoch(1);
  AddList(unnumbered, 0, {"a", "c", "b"});
  EXPECT_EQ(Audit({two}, {one}).Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Audit({one}, {two}).Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  // Which of two epochs a list without a number is cannot be told.
  EXPECT_EQ(Audit({two}, {unnumbered}).Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Audit({one}, {unnumbered}).Verdict("same-assignment"), v1::VERDICT_PASS);
}

TEST(Sharding, SampleNumbersAgainstFileNamesAreNotCompared) {
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Numbers(8), 2))}, {RunOf("npu", Stride(Files(8), 2))}).Verdicts(), "PNPNN");
}

TEST(Sharding, AGapOfAnyLengthCostsNothing) {
  std::vector<Items> lists = Stride(Numbers(8), 2);
  lists[1].push_back("9000000000000000000");
  const Audit audit({RunOf("gpu", lists)}, {RunOf("npu", lists)});
  EXPECT_EQ(audit.Verdicts(), "PFPPP");
  EXPECT_THAT(audit.Kinds("complete"), Contains("not_read"));
}

// --- order-hazard -----------------------------------------------------------------------------------

void AddListing(v1::Bundle& bundle, const Items& names) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_LISTING);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.mutable_listing()->set_dataset("raw");
  for (const std::string& name : names) evidence.mutable_listing()->add_names(name);
}

void AddCache(v1::Bundle& bundle, absl::string_view path, absl::string_view md5) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.mutable_files()->set_dataset("cache");
  v1::FileEntry& file = *evidence.mutable_files()->add_files();
  file.set_path(std::string(path));
  file.set_md5(std::string(md5));
}

TEST(OrderHazard, NodesThatEnumerateDifferently) {
  v1::Bundle gpu = NodeOf("gpu", "gpu0", 2), first = NodeOf("npu", "npu0", 2), second = NodeOf("npu", "npu1", 2);
  AddListing(gpu, {"a", "b", "c"});
  AddListing(first, {"c", "a", "b"});
  AddListing(second, {"c", "b", "a"});
  const Audit audit({gpu}, {first, second});
  EXPECT_EQ(audit.Verdict("order-hazard"), v1::VERDICT_FAIL);
  EXPECT_THAT(audit.Kinds("order-hazard"), UnorderedElementsAre("node_order"));

  // Recorded lists that agree over both nodes show that the loader sorts.
  AddList(first, 0, {"a", "c"});
  AddList(second, 1, {"b"});
  EXPECT_EQ(Audit({gpu}, {first, second}).Verdict("order-hazard"), v1::VERDICT_PASS);
}

TEST(OrderHazard, NodesThatEnumerateAlike) {
  v1::Bundle gpu = NodeOf("gpu", "gpu0", 2), first = NodeOf("npu", "npu0", 2), second = NodeOf("npu", "npu1", 2);
  AddListing(gpu, {"a", "b", "c"});
  AddListing(first, {"c", "a", "b"});
  AddListing(second, {"c", "a", "x", "b"});  // another name more is the data set's matter
  EXPECT_EQ(Audit({gpu}, {first, second}).Verdict("order-hazard"), v1::VERDICT_PASS);
}

TEST(OrderHazard, IndexCachesOfTheNodes) {
  v1::Bundle gpu = NodeOf("gpu", "gpu0", 2), first = NodeOf("npu", "npu0", 2), second = NodeOf("npu", "npu1", 2);
  AddCache(gpu, "i/0a-GPTDataset-train-shuffle_index.npy", "0123456789abcdef");
  AddCache(first, "i/0a-GPTDataset-train-shuffle_index.npy", "0123456789abcdef");
  AddCache(second, "i/0a-GPTDataset-train-shuffle_index.npy", "other6789abcdef0");
  EXPECT_THAT(Audit({gpu}, {first, second}).Kinds("order-hazard"), UnorderedElementsAre("index_cache_differs"));
  v1::Bundle third = NodeOf("npu", "npu1", 2);
  AddCache(third, "i/0a-GPTDataset-train-shuffle_index.npy", "0123456789abcdef");
  AddCache(third, "i/notes.txt", "x");
  EXPECT_EQ(Audit({gpu}, {first, third}).Verdict("order-hazard"), v1::VERDICT_PASS);
}

TEST(OrderHazard, NothingShownIsNotPerformed) {
  EXPECT_EQ(Audit({NodeOf("gpu", "g", 1)}, {NodeOf("npu", "n", 1)}).Verdict("order-hazard"), v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
