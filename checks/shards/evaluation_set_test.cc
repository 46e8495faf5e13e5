#include "checks/shards/evaluation_set.h"

#include "checks/shards/fixture.h"

namespace paritect {
namespace {

enum class Read { kAll, kOne, kSplit, kPart };

void AddSet(v1::Bundle& bundle, absl::string_view dataset, Read read, const Items& files, int ranks = 2) {
  const std::vector<Items> split = Stride(files, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (read == Read::kOne && rank > 0) continue;
    Items list = read == Read::kSplit ? split[static_cast<std::size_t>(rank)] : files;
    if (read == Read::kPart) list.resize(4);
    AddList(bundle, rank, list, dataset);
  }
}

v1::Bundle SideOf(absl::string_view name, Read val, absl::string_view label = "val", Read train = Read::kSplit) {
  v1::Bundle bundle = NodeOf(name, "n0", 2);
  AddSet(bundle, "train", train, Files(24, "/data/train/"));
  AddSet(bundle, label, val, Files(6, "/data/val/"));
  return bundle;
}

TEST(EvaluationSet, IsReadWholeByEveryRankOrByOne) {
  for (Read read : {Read::kAll, Read::kOne}) {
    const Audit audit({SideOf("gpu", read)}, {SideOf("npu", read)});
    EXPECT_EQ(audit.Verdicts(), "PPPPP");
    EXPECT_EQ(audit.Says("disjoint"), "pass read_whole@val");
  }
  EXPECT_EQ(Audit({SideOf("gpu", Read::kAll)}, {SideOf("npu", Read::kOne)}).Verdicts(), "PPPPP");
  EXPECT_EQ(Audit({SideOf("gpu", Read::kSplit)}, {SideOf("npu", Read::kSplit)}).Says("disjoint"), "pass");
  // One side shares it out: no fault of the sharding; training.flow.evaluation warns.
  EXPECT_EQ(Audit({SideOf("gpu", Read::kSplit)}, {SideOf("npu", Read::kAll)}).Verdicts(), "PPPPP");
}

TEST(EvaluationSet, WhatIsNotReadOfItIsAFault) {
  const Audit audit({SideOf("gpu", Read::kAll)}, {SideOf("npu", Read::kPart)});
  EXPECT_EQ(audit.Verdict("complete"), v1::VERDICT_FAIL);
}

TEST(EvaluationSet, TheTrainingSetIsSharedOutWhateverItsName) {
  for (const char* label : {"train2", "values"}) {
    EXPECT_EQ(Audit({SideOf("gpu", Read::kAll, label)}, {SideOf("npu", Read::kAll, label)}).Verdict("disjoint"),
              v1::VERDICT_FAIL)
        << label;
  }
  EXPECT_EQ(Audit({SideOf("gpu", Read::kAll, "val", Read::kAll)}, {SideOf("npu", Read::kAll, "val", Read::kAll)})
                .Says("disjoint"),
            "fail not_sharded@train read_whole@val");
  // A set called "dev" that stands alone is trained on; so is one below /dev/shm.
  const auto alone = [](absl::string_view run, absl::string_view label, absl::string_view root) {
    v1::Bundle bundle = NodeOf(run, "n0", 2);
    AddSet(bundle, label, Read::kAll, Files(24, root));
    return bundle;
  };
  EXPECT_EQ(Audit({alone("gpu", "dev", "/d/")}, {alone("npu", "dev", "/d/")}).Verdict("disjoint"), v1::VERDICT_FAIL);
  EXPECT_EQ(Audit({alone("gpu", "train", "/dev/shm/")}, {alone("npu", "train", "/dev/shm/")}).Verdict("disjoint"),
            v1::VERDICT_FAIL);
}

TEST(EvaluationSet, AFolderBesideTheTrainingFilesIsOne) {
  const auto run = [](absl::string_view name, absl::string_view folder, bool all_train) {
    v1::Bundle bundle = NodeOf(name, "n0", 2);
    std::vector<Items> lists = Stride(Files(24, "/data/train/"), 2);
    if (all_train) lists[0] = lists[1] = Files(24, "/data/train/");
    for (int rank : {0, 1}) {
      Items& list = lists[static_cast<std::size_t>(rank)];
      for (const std::string& file : Files(4, absl::StrCat("/data/", folder, "/"))) list.push_back(file);
      AddList(bundle, rank, list);
    }
    return bundle;
  };
  EXPECT_EQ(Audit({run("gpu", "val", false)}, {run("npu", "val", false)}).Says("disjoint"), "pass read_whole@train");
  EXPECT_EQ(Audit({run("gpu", "more", false)}, {run("npu", "more", false)}).Verdict("disjoint"), v1::VERDICT_FAIL);
  EXPECT_EQ(Audit({run("gpu", "val", true)}, {run("npu", "val", true)}).Verdict("disjoint"), v1::VERDICT_FAIL);
}

}  // namespace
}  // namespace paritect
