// data.sharding over epochs, ends of recordings and runs that lack lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checks/shards/fixture.h"

#include "common/recorded_formats.h"

namespace paritect {
namespace {

TEST(ShardingEnds, SamplesThatNobodyReadsAreNoEndOfARecording) {
  // A data set that is sharded twice: the odd samples are read by nobody, on both sides.
  Items even;
  for (int i = 0; i < 32; i += 2) even.push_back(absl::StrCat(i));
  const Audit audit({RunOf("gpu", Stride(even, 2))}, {RunOf("npu", Stride(even, 2))});
  EXPECT_EQ(audit.Verdict("complete"), v1::VERDICT_FAIL);
  // The first steps of a shuffled epoch leave holes as well: those end early, and nothing shows what comes later.
  const std::vector<Items> head = {{"30", "2", "17"}, {"9", "28", "4"}};
  EXPECT_EQ(Audit({RunOf("gpu", head)}, {RunOf("npu", head)}).Verdict("complete"), v1::VERDICT_NOT_PERFORMED);
  // Twice the world reads twice as much in as many steps.
  const std::vector<Items> wide = {{"30", "17"}, {"9", "4"}, {"2", "11"}, {"28", "21"}};
  EXPECT_EQ(Audit({RunOf("gpu", head)}, {RunOf("npu", wide)}).Verdict("complete"), v1::VERDICT_NOT_PERFORMED);
}

TEST(ShardingEnds, TheLastEpochIsJudgedWhereItIsAsLongAsTheOneBefore) {
  const auto run = [](absl::string_view name, bool loses) {
    v1::Bundle bundle = NodeOf(name, "n0", 2);
    for (int epoch : {0, 1}) {
      std::vector<Items> lists = Stride(Numbers(16), 2);
      if (loses && epoch == 1) lists[1][7] = lists[1][0];
      for (int rank : {0, 1}) {
        v1::ShardList& list = AddList(bundle, rank, lists[static_cast<std::size_t>(rank)]);
        list.set_epoch(epoch);
        list.set_format("index-log");
      }
    }
    return bundle;
  };
  EXPECT_EQ(Audit({run("gpu", true)}, {run("npu", true)}).Verdict("complete"), v1::VERDICT_FAIL);
  EXPECT_EQ(Audit({run("gpu", false)}, {run("npu", true)}).Verdict("complete"), v1::VERDICT_FAIL);
  EXPECT_EQ(Audit({run("gpu", false)}, {run("npu", false)}).Verdict("complete"), v1::VERDICT_PASS);
}

TEST(ShardingEnds, ARunRecordedFromItsSecondEpochOnIsNotShifted) {
  const auto run = [](absl::string_view name, int first) {
    v1::Bundle bundle = NodeOf(name, "n0", 2);
    for (int epoch = first; epoch < 3; ++epoch) {
      Items files = Files(12);
      std::rotate(files.begin(), files.begin() + 5 * epoch % 12, files.end());
      const std::vector<Items> lists = Stride(files, 2);
      for (int rank : {0, 1}) AddList(bundle, rank, lists[static_cast<std::size_t>(rank)]).set_epoch(epoch);
    }
    return bundle;
  };
  const Audit audit({run("gpu", 0)}, {run("npu", 1)});
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(audit.Verdict("rule"), v1::VERDICT_PASS);
}

TEST(ShardingEnds, AnEmptyListBesideLongOnesIsNoList) {
  std::vector<Items> lists = Stride(Files(16), 4);
  lists[3].clear();
  const Audit audit({RunOf("gpu", lists)}, {RunOf("npu", lists)});
  EXPECT_EQ(audit.Verdicts(), "NNNNN");
  // Fewer files than ranks: some ranks have none.
  EXPECT_EQ(Audit({RunOf("gpu", Stride(Files(3), 4))}, {RunOf("npu", Stride(Files(3), 4))}).Verdicts(), "PPPPP");
}

TEST(ShardingEnds, ASecondRunWithoutListsIsNamed) {
  const v1::Bundle without = NodeOf("npu-2", "n0", 4);
  const Audit audit({RunOf("gpu", Stride(Files(12), 4))}, {RunOf("npu", Stride(Files(12), 4)), without});
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(audit.Check("same-assignment").missing(0).from(), "npu-2");
}

TEST(ShardingEnds, OneRankThatEndsEarlierIsNoOtherRule) {
  const auto run = [](absl::string_view name, bool shorter) {
    std::vector<Items> lists = {{"5", "1", "7", "3"}, {"0", "6", "2", "4"}};
    if (shorter) lists[1].pop_back();
    v1::Bundle bundle = RunOf(name, lists);
    for (v1::Evidence& evidence : *bundle.mutable_evidence()) evidence.mutable_shards()->set_format("index-log");
    return bundle;
  };
  const Audit audit({run("gpu", false)}, {run("npu", true)});
  EXPECT_NE(audit.Verdict("rule"), v1::VERDICT_FAIL);
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
}

TEST(ShardingEnds, AResumeInAnotherWorldLoggedToOneFileARank) {
  const auto run = [](absl::string_view name) {
    v1::Bundle bundle = NodeOf(name, "n0", 0);
    AddList(bundle, 0, {"0", "1"}).set_world_size(1);
    const std::vector<Items> second = {{"2", "4"}, {"3", "5"}};
    for (int rank : {0, 1}) {
      v1::ShardList& list = AddList(bundle, rank, second[static_cast<std::size_t>(rank)]);
      list.set_world_size(2);
      list.set_segment(rank == 0 ? 1 : 0);  // rank 1's file begins with the second world
    }
    return bundle;
  };
  const Audit audit({run("gpu")}, {run("npu")});
  EXPECT_EQ(audit.Verdict("ranks"), v1::VERDICT_PASS);
  EXPECT_THAT(audit.Kinds("ranks"), ::testing::Each("world_size_changed"));
}

TEST(ShardingEnds, PaddingByWholeBatchesIsPadding) {
  // What accelerate's even_batches gives of 10 samples, 2 ranks, batches of 4.
  const std::vector<Items> lists = {{"0", "1", "2", "3", "8", "9", "0", "1"}, {"4", "5", "6", "7", "2", "3", "4", "5"}};
  const Audit audit({RunOf("gpu", lists)}, {RunOf("npu", lists)});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
  EXPECT_THAT(audit.Kinds("disjoint"), ::testing::ElementsAre("padding"));
  // Ranks that all read everything are not padded, however the lists are cut into batches.
  for (int count : {8, 12}) {
    const std::vector<Items> same = {Numbers(count), Numbers(count)};
    EXPECT_EQ(Audit({RunOf("gpu", same)}, {RunOf("npu", same)}).Verdict("disjoint"), v1::VERDICT_FAIL);
  }
}

TEST(ShardingEnds, OtherShardsInEachEpochAreNotReadTwice) {
  const auto run = [](absl::string_view name, bool unordered) {
    std::vector<Items> lists(4);
    for (int epoch : {0, 1}) {
      for (int rank = 0; rank < 4; ++rank) {
        const Items share = Stride(Files(16), 4)[static_cast<std::size_t>((rank + epoch) % 4)];
        lists[static_cast<std::size_t>(rank)].insert(lists[static_cast<std::size_t>(rank)].end(), share.begin(),
                                                     share.end());
      }
    }
    if (unordered) std::swap(lists[0][0], lists[0][7]);
    v1::Bundle bundle = RunOf(name, lists);
    for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
      evidence.mutable_shards()->set_format(kTraceFormat);
      if (unordered) evidence.mutable_shards()->add_notes()->set_kind("unordered");
    }
    return bundle;
  };
  const Audit audit({run("gpu", false)}, {run("npu", false)});
  EXPECT_EQ(audit.Verdicts(), "PPPPP");
  EXPECT_EQ(Audit({run("gpu", true)}, {run("npu", true)}).Verdict("disjoint"), v1::VERDICT_NOT_PERFORMED);
}

TEST(ShardingEnds, GuessedRanksAreNoFacts) {
  const auto run = [](absl::string_view name, bool reversed) {
    std::vector<Items> lists = Stride(Files(12), 3);
    if (reversed) std::reverse(lists.begin(), lists.end());
    v1::Bundle bundle = RunOf(name, lists);
    for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
      evidence.mutable_shards()->set_format(kTraceFormat);
      evidence.mutable_shards()->add_notes()->set_kind("rank_by_birth");
    }
    return bundle;
  };
  const Audit audit({run("gpu", false)}, {run("npu", true)});
  EXPECT_EQ(audit.Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(audit.Kinds("ranks"), ::testing::Contains("rank_by_birth"));
}

TEST(ShardingEnds, VariablesThatDisagreeOnTheRankAreTold) {
  v1::Bundle gpu = RunOf("gpu", Stride(Files(12), 3)), npu = RunOf("npu", Stride(Files(12), 3));
  v1::Note& note = *npu.mutable_evidence(2)->mutable_shards()->add_notes();
  note.set_kind("rank_variables_disagree");
  note.set_message("OMPI_COMM_WORLD_RANK=2 (openmpi) counts, not RANK_ID=0 (ascend)");
  const Audit audit({gpu}, {npu});
  EXPECT_THAT(audit.Kinds("ranks"), ::testing::Contains("rank_variables_disagree"));
  EXPECT_EQ(audit.Verdict("ranks"), v1::VERDICT_PASS) << "a note changes no verdict";
}

TEST(OrderHazard, ANodeWithoutAListingIsNamed) {
  const auto node = [](absl::string_view name, const Items& names) {
    v1::Bundle bundle = NodeOf("npu", name, 0);
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(names.empty() ? v1::EVIDENCE_KIND_SETTINGS : v1::EVIDENCE_KIND_DATASET_LISTING);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    if (!names.empty()) evidence.mutable_listing()->set_dataset("train");
    for (const std::string& one : names) evidence.mutable_listing()->add_names(one);
    return bundle;
  };
  const std::vector<v1::Bundle> whole = {node("n0", {"b", "a"}), node("n1", {"b", "a"})};
  EXPECT_EQ(Audit(whole, whole).Verdict("order-hazard"), v1::VERDICT_PASS);
  EXPECT_EQ(Audit(whole, {node("n0", {"b", "a"}), node("n1", {})}).Verdict("order-hazard"), v1::VERDICT_NOT_PERFORMED);
  // Not one name in common: nothing was compared.
  EXPECT_EQ(Audit(whole, {node("n0", {"b", "a"}), node("n1", {"x", "y"})}).Verdict("order-hazard"),
            v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
