// data.sharding.* over what opens of files leave open: epochs that no mark cuts, scans, copies, recordings that began
// late.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/shards/fixture.h"

namespace paritect {
namespace {

struct Epoch {
  int number = -1;  // -1: none
  std::vector<Items> lists;
  std::vector<std::string> notes = {};
  std::string incomplete = "";
};

v1::Bundle Recorded(absl::string_view run, const std::vector<Epoch>& epochs, absl::string_view format = "trace",
                    int world_size = 2) {
  v1::Bundle bundle = NodeOf(run, "n0", world_size);
  for (const Epoch& epoch : epochs) {
    for (std::size_t rank = 0; rank < epoch.lists.size(); ++rank) {
      v1::ShardList& list = AddList(bundle, static_cast<int>(rank), epoch.lists[rank]);
      list.set_format(std::string(format));
      if (epoch.number >= 0) list.set_epoch(epoch.number);
      for (const std::string& note : epoch.notes) list.add_notes()->set_kind(note);
      if (!epoch.incomplete.empty()) list.add_incomplete()->set_id(epoch.incomplete);
    }
  }
  return bundle;
}

std::vector<Items> Parts(std::vector<Items> lists, std::size_t from, std::size_t to) {
  for (Items& list : lists)
    list = Items(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(to));
  return lists;
}

bool Misses(const Audit& audit, absl::string_view check, absl::string_view words) {
  for (const v1::Missing& missing : audit.Check(check).missing()) {
    if (absl::StrContains(missing.what().en(), words)) return true;
  }
  return false;
}

const std::vector<Items> kSplit = Stride(Files(24), 2);

TEST(ShardingOpens, WhatARankOpenedOnceMayBeHeldOrGone) {
  const v1::Bundle whole = Recorded("gpu", {{0, kSplit}, {1, kSplit}, {2, kSplit}});
  const v1::Bundle half = Recorded("npu", {{0, kSplit}, {1, Parts(kSplit, 6, 12)}, {2, Parts(kSplit, 6, 12)}});
  const Audit audit({whole}, {half});
  EXPECT_EQ(audit.Says("same-assignment"), "none");
  EXPECT_EQ(audit.Says("complete"), "none expected_from_union@train");
  EXPECT_TRUE(Misses(audit, "same-assignment", "once"));
  // Files that come again in a later epoch are not held: they were left out.
  const v1::Bundle skipped = Recorded("npu", {{0, kSplit}, {1, Parts(kSplit, 1, 12)}, {2, kSplit}});
  EXPECT_EQ(Audit({whole}, {skipped}).Verdict("same-assignment"), v1::VERDICT_FAIL);
  EXPECT_EQ(Audit({whole}, {whole}).Verdicts(), "PPPPP");
  // A printed list holds what it says.
  const v1::Bundle printed =
      Recorded("npu", {{0, kSplit}, {1, Parts(kSplit, 6, 12)}, {2, Parts(kSplit, 6, 12)}}, "shard-list");
  EXPECT_EQ(Audit({whole}, {printed}).Verdict("same-assignment"), v1::VERDICT_FAIL);
}

TEST(ShardingOpens, OneEpochIsTheFirstOfSeveral) {
  const v1::Bundle one = Recorded("gpu", {{-1, kSplit}}, "shard-list");
  const std::vector<Items> block = Block(Files(24), 2);
  for (int first : {0, 1}) {
    const Audit same({one}, {Recorded("npu", {{first, kSplit}, {first + 1, kSplit}}, "shard-list")});
    EXPECT_EQ(same.Says("same-assignment"), "none epochs_compared@npu");
    const Audit other({one}, {Recorded("npu", {{first, block}, {first + 1, block}}, "shard-list")});
    EXPECT_EQ(other.Verdict("same-assignment"), v1::VERDICT_FAIL);
    EXPECT_EQ(other.Says("rule"), "fail split_rule_differs@train");
    const Audit swapped({Recorded("gpu", {{first, block}, {first + 1, block}}, "shard-list")}, {one});
    EXPECT_EQ(swapped.Says("rule"), "fail split_rule_differs@train");
  }
  // A recording that began later has no first epoch, and a list of several epochs is none: nothing is compared.
  const Audit late({one}, {Recorded("npu", {{5, block}, {6, block}}, "shard-list")});
  EXPECT_EQ(late.Verdicts().substr(3), "NN");
  std::vector<Items> twice = kSplit;
  for (std::size_t rank : {0, 1}) twice[rank].insert(twice[rank].end(), kSplit[rank].begin(), kSplit[rank].end());
  const Audit both({Recorded("gpu", {{-1, twice}}, "shard-list")},
                   {Recorded("npu", {{0, kSplit}, {1, kSplit}}, "shard-list")});
  EXPECT_EQ(both.Verdicts().substr(3), "NN");
}

TEST(ShardingOpens, ARecordingThatBeganInTheMiddleKnowsNoBeginning) {
  const v1::Bundle whole = Recorded("gpu", {{-1, kSplit}});
  const auto attached = [](std::vector<Items> lists) {
    return Recorded("npu", {{-1, std::move(lists), {"epochs_unclear"}, "trace_attached"}});
  };
  for (const auto& lists : {Parts(kSplit, 8, 12), Parts(kSplit, 0, 12)}) {
    const Audit audit({whole}, {attached(lists)});
    EXPECT_EQ(audit.Says("same-assignment"), "none");
    EXPECT_EQ(audit.Says("rule"), "none");
  }
  // What it did see is another rank's.
  EXPECT_EQ(Audit({whole}, {attached(Parts(Block(Files(24), 2), 8, 12))}).Verdict("same-assignment"), v1::VERDICT_FAIL);
}

TEST(ShardingOpens, AListThatIsKnownToBeCutIsNoOther) {
  const v1::Bundle whole = Recorded("gpu", {{-1, kSplit}}, "shard-list");
  std::vector<Items> shortened = kSplit;
  for (Items& list : shortened) list.erase(list.begin() + 3, list.begin() + 9);
  EXPECT_EQ(Audit({whole}, {Recorded("npu", {{-1, shortened, {}, "shard_list_incomplete"}}, "shard-list")})
                .Says("same-assignment"),
            "none");
  std::reverse(shortened[0].begin(), shortened[0].end());
  EXPECT_EQ(Audit({whole}, {Recorded("npu", {{-1, shortened, {}, "shard_list_incomplete"}}, "shard-list")})
                .Verdict("same-assignment"),
            v1::VERDICT_FAIL);
}

TEST(ShardingOpens, RanksMayLookThroughAllFilesFirst) {
  const std::vector<Items> all = {Files(24), Files(24)};
  const v1::Bundle scanned = Recorded("npu", {{0, all}, {1, kSplit}});
  const Audit both({Recorded("gpu", {{0, all}, {1, kSplit}})}, {scanned});
  EXPECT_EQ(both.Says("disjoint"), "none");
  EXPECT_EQ(Audit({Recorded("gpu", {{-1, kSplit}})}, {scanned}).Verdict("same-assignment"), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Audit({Recorded("gpu", {{-1, kSplit}})}, {scanned}).Verdict("disjoint"), v1::VERDICT_NOT_PERFORMED);
  // Ranks that read everything in each epoch do not share anything out.
  EXPECT_EQ(
      Audit({Recorded("gpu", {{0, kSplit}, {1, kSplit}})}, {Recorded("npu", {{0, all}, {1, all}})}).Verdict("disjoint"),
      v1::VERDICT_FAIL);
}

TEST(ShardingOpens, OpenedAgainInNoOrderProvesNoFault) {
  const std::vector<std::string> unclear = {"epochs_unclear", "opened_again"};
  const std::vector<Items> all = {Files(24), Files(24)};
  const v1::Bundle whole = Recorded("gpu", {{-1, kSplit}});
  // Each rank opened all, some more often: as after a scan, or over several shuffled epochs.
  const Audit more({whole}, {Recorded("npu", {{-1, all, unclear}})});
  EXPECT_EQ(more.Says("disjoint"), "none");
  EXPECT_EQ(more.Says("same-assignment"), "none");
  EXPECT_EQ(Audit({whole}, {Recorded("npu", {{-1, kSplit, unclear}})}).Says("same-assignment"), "none");
  // Each file equally often is what neither gives.
  const Audit even({whole}, {Recorded("npu", {{-1, all, {"epochs_unclear", "opened_again", "opened_evenly"}}})});
  EXPECT_EQ(even.Says("disjoint"), "fail not_sharded@train");
  EXPECT_EQ(even.Verdict("same-assignment"), v1::VERDICT_FAIL);
  // What a rank never opened it did not read.
  EXPECT_EQ(Audit({whole}, {Recorded("npu", {{-1, Block(Files(24), 2), unclear}})}).Verdict("same-assignment"),
            v1::VERDICT_FAIL);
}

TEST(ShardingOpens, OneRankThatOpensAllMayCopyForTheOthers) {
  const Audit audit({Recorded("gpu", {{-1, kSplit}})}, {Recorded("npu", {{-1, {Files(24)}}})});
  EXPECT_EQ(audit.Says("same-assignment"), "none");
  EXPECT_TRUE(Misses(audit, "same-assignment", "copied"));
}

// Workers of one epoch that stand one after another are no epochs, however the parts fit.
TEST(ShardingOpens, PartsOfWorkersAreNoEpochs) {
  std::vector<Items> lists = {Files(24), Files(24)};
  std::rotate(lists[1].begin(), lists[1].begin() + 12, lists[1].end());
  const Audit audit({Recorded("gpu", {{-1, kSplit}})}, {Recorded("npu", {{-1, lists, {"unordered"}}})});
  EXPECT_NE(audit.Verdict("disjoint"), v1::VERDICT_PASS);
  EXPECT_NE(audit.Verdict("same-assignment"), v1::VERDICT_PASS);
}

}  // namespace
}  // namespace paritect
