// data.sharding.* over what the recorder writes, and over the places where one rank, one node or one spelling is apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/shards/fixture.h"
#include "checks/shards/shuffle_fixture.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

struct List {
  int rank = 0;
  Items items;
  std::string node = "n0";
  std::string note;  // kind
  int epoch = -1;
};

std::vector<v1::Bundle> RunOf(absl::string_view run, int world_size, const std::vector<List>& lists,
                              absl::string_view format = "shard-list", const Items& data = {}) {
  std::map<std::string, v1::Bundle> nodes;
  for (const List& one : lists) {
    v1::Bundle& bundle = nodes[one.node];
    bundle.mutable_plan()->set_run(std::string(run));
    bundle.mutable_plan()->set_node(one.node);
    bundle.mutable_plan()->set_role(v1::ROLE_RUN);
    bundle.mutable_plan()->set_world_size(world_size);
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_subject("train");
    evidence.set_rank(one.rank);
    v1::ShardList& list = *evidence.mutable_shards();
    list.set_rank(one.rank);
    list.set_format(std::string(format));
    if (one.epoch >= 0) list.set_epoch(one.epoch);
    if (!one.note.empty()) list.add_notes()->set_kind(one.note);
    for (const std::string& item : one.items) list.add_items(item);
  }
  std::vector<v1::Bundle> bundles;
  for (auto& [name, bundle] : nodes) bundles.push_back(std::move(bundle));
  if (!data.empty()) {
    v1::Evidence& evidence = *bundles[0].add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_subject("train");
    evidence.mutable_files()->set_dataset("train");
    for (const std::string& name : data) evidence.mutable_files()->add_files()->set_path(name);
  }
  return bundles;
}

// Stride of a00, a01, … over the ranks.
std::vector<List> Stride(int count, int ranks, absl::string_view root = "/d/", int per_node = 100) {
  std::vector<List> lists;
  for (int rank = 0; rank < ranks; ++rank) {
    List list = {.rank = rank, .node = absl::StrCat("n", rank / per_node)};
    for (int i = rank; i < count; i += ranks) list.items.push_back(absl::StrCat(root, "a", i / 10, i % 10, ".bin"));
    lists.push_back(std::move(list));
  }
  return lists;
}

TEST(ShardingPlace, ExchangedRanksAreNamedAndNoCauseIsInvented) {
  std::vector<List> lists = Stride(12, 4);
  std::swap(lists[1].items, lists[2].items);
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(audit.Says("same-assignment"), "fail assignment_differs@rank 1 assignment_differs@rank 2");
  EXPECT_EQ(audit.Says("rule"), "pass ranks_exchanged@npu");
}

TEST(ShardingPlace, OneRankInAnotherOrder) {
  std::vector<List> lists = Stride(12, 4);
  std::swap(lists[3].items[0], lists[3].items[2]);
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(audit.Says("rule"), "fail rank_order@rank 3");
  EXPECT_EQ(audit.Says("same-assignment"), "fail assignment_differs@rank 3");
}

TEST(ShardingPlace, OneRankWithOtherEntriesIsNoOtherRule) {
  std::vector<List> lists = Stride(12, 4);
  lists[3].items.pop_back();
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(audit.Says("rule"), "pass");
  EXPECT_EQ(audit.Says("complete"), "fail expected_from_union@train not_read@a11.bin");
}

TEST(ShardingPlace, OneRankConflictsWithAllOthers) {
  std::vector<List> lists = Stride(12, 4);
  lists[3].items = {"/d/a00.bin", "/d/a05.bin", "/d/a10.bin"};  // of the ranks 0, 1 and 2
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(audit.Says("rule"), "fail rank_order@rank 3");
}

TEST(ShardingNames, AbsoluteAndRelativeListsOfOneSideMeet) {
  std::vector<List> lists = Stride(12, 4);
  for (std::string& item : lists[2].items) item = item.substr(3);
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(audit.Says("same-assignment"), "pass");
  EXPECT_EQ(audit.Says("complete"), "pass expected_from_union@train");
}

TEST(ShardingNames, NodesMayHoldTheDataUnderOtherRoots) {
  std::vector<List> lists = Stride(12, 4, "/node-a/data/train/", 2);
  for (int rank : {2, 3}) {
    for (std::string& item : lists[static_cast<std::size_t>(rank)].items) item = "/ssd/" + item.substr(13);
  }
  const Audit same(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(same.Says("same-assignment"), "pass");
  lists[2].items[0] = "/ssd/train/a00.bin";
  const Audit twice(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists));
  EXPECT_EQ(twice.Says("disjoint"), "fail read_twice@a00.bin");
}

TEST(ShardingNames, OneNodeMayHoldTheDataWhereTheBaselineDoes) {
  std::vector<List> lists = Stride(12, 4, "/tmp/a/node0/data/", 2);
  const auto baseline = RunOf("gpu", 4, lists, "trace");
  for (int rank : {2, 3}) {
    for (std::string& item : lists[static_cast<std::size_t>(rank)].items)
      item = absl::StrCat("/dev/shm/b", item.substr(12));
  }
  const Audit audit(baseline, RunOf("npu", 4, lists, "trace"));
  EXPECT_EQ(audit.Says("same-assignment"), "pass");
  EXPECT_EQ(audit.Says("complete"), "pass expected_from_union@train");
}

TEST(ShardingNames, AFileThatTheFolderLacksIsNotOverlooked) {
  Items data;
  for (const List& list : Stride(11, 1)) data = list.items;  // without a11
  for (std::string& name : data) name = name.substr(3);
  std::vector<List> lists = Stride(12, 4);
  lists[3].items.pop_back();
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists, "shard-list", data));
  EXPECT_EQ(audit.Says("complete"), "fail not_listed@a11.bin not_read@a11.bin");
  // A list of something else is not used, and said.
  const Audit other(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, Stride(12, 4), "shard-list", {"x", "y", "z"}));
  EXPECT_EQ(other.Says("complete"), "none expected_from_union@train");
}

TEST(ShardingEpochs, TheEpochsThatBothRecordedAreCompared) {
  const auto epochs = [](int first, int count, bool other_last) {
    std::vector<List> lists;
    for (int epoch = first; epoch < first + count; ++epoch) {
      for (List list : Stride(12, 4)) {
        if (epoch % 2 == 1) std::reverse(list.items.begin(), list.items.end());
        if (other_last && epoch == first + count - 1) std::swap(list.items[0], list.items[1]);
        list.epoch = epoch;
        lists.push_back(list);
      }
    }
    return lists;
  };
  const Audit more(RunOf("gpu", 4, epochs(0, 2, false)), RunOf("npu", 4, epochs(0, 3, false)));
  EXPECT_EQ(more.Says("same-assignment"), "none epochs_compared@npu");
  const Audit other(RunOf("gpu", 4, epochs(0, 3, true)), RunOf("npu", 4, epochs(0, 4, false)));
  EXPECT_THAT(other.Says("same-assignment").substr(0, 4), "fail");
}

TEST(ShardingEpochs, CountedFromZeroOrFromOne) {
  std::vector<List> from_zero, from_one;
  for (int epoch : {0, 1}) {
    for (List list : Stride(12, 4)) {
      if (epoch == 1) std::reverse(list.items.begin(), list.items.end());
      list.epoch = epoch;
      from_zero.push_back(list);
      list.epoch = epoch + 1;
      from_one.push_back(list);
    }
  }
  const Audit audit(RunOf("gpu", 4, from_zero), RunOf("npu", 4, from_one));
  EXPECT_EQ(audit.Says("same-assignment"), "pass");
}

// torch's DistributedSampler(shuffle=True, seed): the permutation is that of the sorted names, padded or cut by world
// size.
std::vector<List> Sampled(int count, int ranks, std::uint32_t seed, bool drop_last) {
  std::vector<std::uint32_t> order = ShuffledOrder({ShuffleLaw::kTorch, seed}, static_cast<std::size_t>(count));
  const std::size_t world = static_cast<std::size_t>(ranks);
  if (drop_last) {
    order.resize(order.size() / world * world);
  } else {
    for (std::size_t i = 0; order.size() % world != 0; ++i) order.push_back(order[i]);
  }
  std::vector<List> lists(world);
  for (std::size_t i = 0; i < order.size(); ++i) {
    lists[i % world].rank = static_cast<int>(i % world);
    lists[i % world].items.push_back(absl::StrCat("/d/a", order[i] / 10, order[i] % 10, ".bin"));
  }
  return lists;
}

TEST(ShardingRuleTold, AShuffleIsTheSameRuleInAnyWorldIfItsSeedIs) {
  const auto baseline = RunOf("gpu", 4, Sampled(42, 4, 42, false));
  const Audit same(baseline, RunOf("npu", 8, Sampled(42, 8, 42, false)));
  EXPECT_EQ(same.Says("same-assignment"), "pass compared_by_rule@train");
  EXPECT_EQ(same.Says("rule"), "pass");
  const Audit other(baseline, RunOf("npu", 8, Sampled(42, 8, 43, false)));
  EXPECT_EQ(other.Says("same-assignment"), "fail assignment_differs@train compared_by_rule@train");
  EXPECT_THAT(other.Says("rule"), "fail order_rule_differs@train");
  // A sampler that drops the rest, in one world and in the other.
  const Audit dropped(RunOf("gpu", 4, Sampled(43, 4, 7, true)), RunOf("npu", 8, Sampled(43, 8, 7, true)));
  EXPECT_THAT(dropped.Says("rule"), "pass");
}

TEST(ShardingTrace, WorkersHideTheOrderAndNothingElse) {
  std::vector<List> lists = Stride(12, 2);
  for (List& list : lists) {
    std::swap(list.items[0], list.items[3]);
    list.note = "unordered";
  }
  const Audit order(RunOf("gpu", 2, Stride(12, 2)), RunOf("npu", 2, lists, "trace"));
  EXPECT_EQ(order.Says("same-assignment"), "none");
  EXPECT_EQ(order.Says("rule"), "none");
  EXPECT_EQ(order.Says("disjoint"), "pass");
  // Equally many workers on both sides stand in the same order.
  const Audit alike(RunOf("gpu", 2, lists, "trace"), RunOf("npu", 2, lists, "trace"));
  EXPECT_EQ(alike.Says("same-assignment"), "pass");
  std::swap(lists[0].items[1], lists[1].items[1]);
  const Audit other(RunOf("gpu", 2, Stride(12, 2)), RunOf("npu", 2, lists, "trace"));
  EXPECT_EQ(other.Says("same-assignment"), "fail assignment_differs@rank 0 assignment_differs@rank 1");
}

TEST(ShardingTrace, FilesThatAllRanksOpenAreNoShards) {
  std::vector<List> lists = Stride(12, 4);
  for (List& list : lists) list.items.insert(list.items.begin(), "/d/index.json");
  const Audit audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists, "trace"));
  EXPECT_EQ(audit.Says("disjoint"), "pass");
  EXPECT_EQ(audit.Says("same-assignment"), "pass");
  EXPECT_EQ(audit.Says("complete"), "pass expected_from_union@train");  // the other side opens no index
  // A printed list has shards alone; so has what looks like one.
  EXPECT_THAT(Audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists)).Says("disjoint").substr(0, 4), "fail");
  for (List& list : lists) list.items[0] = "/d/a99.bin";
  EXPECT_EQ(Audit(RunOf("gpu", 4, Stride(12, 4)), RunOf("npu", 4, lists, "trace")).Says("disjoint"),
            "fail read_twice@a99.bin");
}

// Every rank reads every shard; rank 0 alone reads a file beside them. That they are read by all makes them no side
// files.
TEST(ShardingTrace, ShardsThatAllRanksReadAreReadTwice) {
  for (absl::string_view ending : {".tar", ".bin", ".tar.gz", ".jpg"}) {
    std::vector<List> lists(4);
    for (int rank = 0; rank < 4; ++rank) {
      lists[static_cast<std::size_t>(rank)].rank = rank;
      for (int i = 0; i < 6; ++i) {
        lists[static_cast<std::size_t>(rank)].items.push_back(absl::StrCat("/d/part-", i, ending));
      }
    }
    // Alike on both sides opens cannot tell which samples a rank keeps; where one side shares the files out, or prints
    // what its ranks read, they need not.
    const Audit all(RunOf("gpu", 4, lists, "trace"), RunOf("npu", 4, lists, "trace"));
    EXPECT_EQ(all.Says("disjoint"), "none") << ending;
    EXPECT_EQ(all.Says("same-assignment"), "none") << ending;
    EXPECT_EQ(Audit(RunOf("gpu", 4, lists), RunOf("npu", 4, lists)).Says("disjoint"), "fail not_sharded@train");
    std::vector<List> split(4);
    for (int i = 0; i < 6; ++i) {
      split[static_cast<std::size_t>(i % 4)].rank = i % 4;
      split[static_cast<std::size_t>(i % 4)].items.push_back(absl::StrCat("/d/part-", i, ending));
    }
    EXPECT_EQ(Audit(RunOf("gpu", 4, split, "trace"), RunOf("npu", 4, lists, "trace")).Says("disjoint"),
              "fail not_sharded@train");
    lists[0].items.push_back("/d/resume.json");
    const Audit audit(RunOf("gpu", 4, lists, "trace"), RunOf("npu", 4, lists, "trace"));
    EXPECT_EQ(audit.Says("disjoint").substr(0, 4), "fail") << ending;
  }
}

// Two ranks whose samplers know of themselves alone: both count from 0. `first_batches`: digests of what they read
// first.
std::vector<v1::Bundle> OwnNumbers(absl::string_view run, const std::vector<std::string>& first_batches) {
  std::vector<v1::Bundle> bundles = RunOf(run, 2, Stride(12, 2), "trace");
  for (int rank = 0; rank < 2; ++rank) {
    v1::Evidence& evidence = *bundles[0].add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_subject("samples");
    evidence.set_rank(rank);
    v1::ShardList& list = *evidence.mutable_shards();
    list.set_rank(rank);
    list.set_format(kObservedFormat);
    list.set_sample_numbers(true);
    list.set_epoch(0);
    for (const char* number : {"0", "1", "2", "3", "4", "5"}) list.add_items(number);
    if (first_batches.empty()) continue;
    v1::Note& note = *list.add_notes();
    note.set_kind("own_numbers");
    note.set_message(first_batches[static_cast<std::size_t>(rank)]);
  }
  return bundles;
}

TEST(ShardingObserved, NumbersOfARanksOwnDataSetSayNothingOfOthers) {
  const auto says = [](const std::vector<std::string>& first_batches) {
    return Audit(OwnNumbers("gpu", first_batches), OwnNumbers("npu", first_batches)).Says("disjoint");
  };
  EXPECT_EQ(says({"a", "b"}), "pass");  // as the opens tell
  EXPECT_EQ(says({"", ""}), "pass");    // what was read first is not known
  // The same numbers, and the same rows behind them: each rank trains with all of the data.
  EXPECT_EQ(says({"a", "a"}), "fail not_sharded@samples");
  // A sampler that deals one data set out.
  EXPECT_EQ(says({}), "fail not_sharded@samples");
}

TEST(ShardingTrace, WhatStandsBesideTheShards) {
  const auto with = [](const Items& beside) {
    std::vector<List> lists = Stride(12, 4);
    for (List& list : lists) list.items.insert(list.items.begin(), beside.begin(), beside.end());
    return Audit(RunOf("gpu", 4, Stride(12, 4), "trace"), RunOf("npu", 4, lists, "trace")).Says("disjoint");
  };
  EXPECT_EQ(with({"/d/vocab.txt", "/d/config.JSON", "/d/LABELS"}), "pass");
  EXPECT_EQ(with({"/d/a00.idx", "/d/a01.idx", "/d/a02.idx", "/d/a03.idx", "/d/a04.idx"}), "pass");
  EXPECT_EQ(with({"/d/mean.npz"}), "pass");  // one file beside twelve
  // As many as there are shards: either meaning fits.
  EXPECT_EQ(with({"/d/x.dat", "/d/y.dat", "/d/z.dat", "/d/w.dat"}), "none");
  // Parts of one whole, read by all.
  EXPECT_EQ(with({"/d/val-0.tar", "/d/val-1.tar"}), "fail read_twice@val-0.tar read_twice@val-1.tar");
}

TEST(ShardingTrace, ShardsMayHaveTheEndingOfWhatStandsBesideThem) {
  std::vector<List> lists = Stride(12, 4);
  for (List& list : lists) {
    for (std::string& item : list.items) item = item.substr(0, item.size() - 4) + ".json";
    list.items.push_back("/d/vocab.json");
  }
  EXPECT_EQ(Audit(RunOf("gpu", 4, lists, "trace"), RunOf("npu", 4, lists, "trace")).Says("disjoint"), "pass");
  for (List& list : lists) list.items.back() = "/d/a77.json";
  EXPECT_EQ(Audit(RunOf("gpu", 4, lists, "trace"), RunOf("npu", 4, lists, "trace")).Says("disjoint"),
            "fail read_twice@a77.json");
}

TEST(ShardingTrace, ContainersThatAllRanksMapTellNothing) {
  for (const Items& names : {Items{"/d/text.bin", "/d/text.idx"}, Items{"/d/data-0-of-2.arrow", "/d/data-1-of-2.arrow"},
                             Items{"/d/x.h5", "/d/meta.json"}}) {
    std::vector<List> lists(2);
    for (int rank = 0; rank < 2; ++rank) lists[static_cast<std::size_t>(rank)] = {.rank = rank, .items = names};
    const Audit audit(RunOf("gpu", 2, lists, "trace"), RunOf("npu", 2, lists, "trace"));
    EXPECT_EQ(audit.Says("disjoint"), "none") << names[0];
    EXPECT_EQ(audit.Says("same-assignment"), "none") << names[0];
    EXPECT_EQ(audit.Says("rule"), "none") << names[0];
    lists[0].items.push_back("/d/only-rank-0.json");
    const Audit more(RunOf("gpu", 2, lists, "trace"), RunOf("npu", 2, lists, "trace"));
    EXPECT_EQ(more.Says("disjoint"), "none") << names[0];
  }
}

TEST(ShardingTrace, ARankThatReadsAFileTwiceIsNotTwoRanks) {
  std::vector<List> lists = Stride(12, 2);
  lists[0].items.push_back("/d/extra.dat");
  lists[0].items.push_back("/d/extra.dat");
  const Audit audit(RunOf("gpu", 2, lists, "trace"), RunOf("npu", 2, lists, "trace"));
  EXPECT_EQ(audit.Says("complete"), "pass expected_from_union@train");
  EXPECT_EQ(audit.Says("disjoint"), "pass");
}

TEST(ShardingNames, AListThatCannotBeReadOrNamesNothingIsNeverComplete) {
  const auto baseline = RunOf("gpu", 4, Stride(12, 4));
  auto migrated = RunOf("npu", 4, Stride(12, 4));
  v1::Evidence& files = *migrated[0].add_evidence();
  files.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  files.set_outcome(v1::OUTCOME_FAILED);
  files.set_subject("train");
  EXPECT_EQ(Audit(baseline, migrated).Says("complete"), "none expected_from_union@train");
  files.set_outcome(v1::OUTCOME_COLLECTED);  // an empty folder
  files.mutable_files()->set_dataset("train");
  EXPECT_EQ(Audit(baseline, migrated).Says("complete"), "none expected_from_union@train");
}

TEST(ShardingTrace, UnclearEpochsAreNeitherErrorNorPass) {
  std::vector<List> lists = Stride(12, 2);
  lists[0].items.push_back(lists[1].items[0]);
  for (List& list : lists) list.note = "epochs_unclear";
  const Audit audit(RunOf("gpu", 2, Stride(12, 2)), RunOf("npu", 2, lists, "trace"));
  EXPECT_EQ(audit.Says("disjoint"), "none");
}

}  // namespace
}  // namespace paritect
