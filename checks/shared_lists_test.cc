#include "checks/shared_lists.h"

#include <gmock/gmock.h>

#include "absl/strings/str_format.h"
#include "checks/datasets/follow_up.h"
#include "checks/datasets/pairs.h"
#include "checks/datasets/test_util.h"

namespace paritect {
namespace {

using dataset_test::OneSide;

// A set of `count` files; `other` of them (from the end on) have another content.
v1::Bundle Node(const std::string& name, int count, int other = 0, absl::string_view format = "tree") {
  OneSide side(name, format);
  for (int i = 0; i < count; ++i) {
    side.File(absl::StrFormat("folder-%02d/file-%05d.bin", i / 100, i), i + other < count ? "same" : "other");
  }
  return side.bundle();
}

std::vector<v1::Bundle> Nodes(const std::vector<std::pair<int, int>>& sets, absl::string_view format) {
  std::vector<v1::Bundle> nodes;
  for (const auto& [count, other] : sets) {
    nodes.push_back(Node(absl::StrCat("node-", nodes.size()), count, other, format));
  }
  return nodes;
}

std::string ReportOf(const EvidenceSet& evidence) {
  return RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), {.today = "2026-06-01"}).DebugString();
}

std::unique_ptr<EvidenceSet> Shared(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  const auto lists = std::make_shared<SharedLists>();
  for (v1::Bundle& bundle : baseline) lists->Take(bundle);
  for (v1::Bundle& bundle : migrated) lists->Take(bundle);
  return std::make_unique<EvidenceSet>(std::move(baseline), std::move(migrated), lists);
}

TEST(SharedLists, ReportsAreTheSameWithAndWithout) {
  constexpr int kMany = 2 * SharedLists::kFilesMin;
  const std::vector<std::vector<std::pair<int, int>>> sides = {
      {{kMany, 0}, {kMany, 0}, {kMany, 0}},
      {{kMany, 0}, {kMany, 1}, {kMany, 0}},
      {{kMany, 0}, {kMany - 1, 0}, {kMany, 0}, {kMany - 1, 0}},
      {{3, 0}, {kMany, 0}},
      {{kMany, kMany}},
  };
  for (const absl::string_view format : {"tree", "manifest-md5sum"}) {
    for (const auto& baseline : sides) {
      for (const auto& migrated : sides) {
        const EvidenceSet plain(Nodes(baseline, format), Nodes(migrated, format));
        EXPECT_EQ(ReportOf(*Shared(Nodes(baseline, format), Nodes(migrated, format))), ReportOf(plain));
      }
    }
  }
}

TEST(SharedLists, FilesWithoutDigestAgreeWithNobody) {
  v1::Bundle a = Node("a", 300);
  a.mutable_evidence(0)->mutable_files()->mutable_files(7)->clear_md5();
  v1::Bundle b = a;
  b.mutable_plan()->set_node("b");
  EXPECT_EQ(ReportOf(*Shared({Node("g", 300)}, {a, b})), ReportOf(EvidenceSet({Node("g", 300)}, {a, b})));
}

TEST(SharedLists, EqualListsAreKeptOnce) {
  const auto set = Shared(Nodes({{1000, 0}, {1000, 0}}, "tree"), Nodes({{1000, 0}, {1000, 1}, {1000, 0}}, "tree"));
  int held = 0;
  for (const Side side : kBothSides) {
    for (const v1::Bundle& bundle : set->bundles(side)) {
      held += bundle.evidence(0).files().files_size();
      EXPECT_EQ(set->FilesOf(bundle.evidence(0).files()).size(), 1000);
    }
  }
  EXPECT_EQ(held, 2000);
  const std::vector<DatasetSet> sets = DatasetsOf(*set, Side::kMigrated);
  EXPECT_TRUE(sets[0].views[0].files.IsSharedWith(sets[0].views[2].files));
  EXPECT_FALSE(sets[0].views[0].files.IsSharedWith(sets[0].views[1].files));
}

TEST(SharedLists, WhatAListCostsIsGivenBack) {
  SharedLists lists;
  v1::Bundle a = Node("a", 1000);
  v1::Bundle b = Node("b", 1000);
  MessageBudget budget;
  const std::string bytes = b.SerializeAsString();
  ASSERT_TRUE(TakeFromBudget(bytes, b, budget).ok());
  const MessageBudget before = budget;
  lists.Take(a, &budget);
  EXPECT_EQ(budget.entries, before.entries);
  lists.Take(b, &budget);
  EXPECT_GE(budget.entries, before.entries + 1000);
  EXPECT_LE(budget.entries, MessageBudget().entries);
  EXPECT_LE(budget.memory_bytes, MessageBudget().memory_bytes);
}

TEST(SharedLists, WhoIsChangedHasItsOwnAndTheOthersAreAsBefore) {
  for (const int changed : {0, 1, 2}) {
    SharedLists lists;
    std::vector<v1::Bundle> nodes = Nodes({{300, 0}, {300, 0}, {300, 0}}, "tree");
    for (v1::Bundle& bundle : nodes) lists.Take(bundle);
    v1::FileList& list = *nodes[static_cast<std::size_t>(changed)].mutable_evidence(0)->mutable_files();
    lists.Part(list);
    ASSERT_EQ(list.files_size(), 300);
    list.mutable_files(0)->set_records(7);
    for (int i = 0; i < 3; ++i) {
      const auto& files = lists.FilesOf(nodes[static_cast<std::size_t>(i)].evidence(0).files());
      ASSERT_EQ(files.size(), 300);
      EXPECT_EQ(files[0].has_records(), i == changed);
    }
    v1::Bundle later = Node("later", 300);  // finds those that are left
    lists.Take(later);
    EXPECT_EQ(later.evidence(0).files().files_size(), 0);
    EXPECT_FALSE(lists.FilesOf(later.evidence(0).files())[0].has_records());
  }
}

TEST(SharedLists, AnswersGoToTheNodeThatWasAsked) {
  for (const bool shared : {false, true}) {
    const auto lists = std::make_shared<SharedLists>();
    std::vector<v1::Bundle> baseline = Nodes({{300, 1}}, "tree");
    std::vector<v1::Bundle> migrated = Nodes({{300, 0}, {300, 0}}, "tree");
    for (std::vector<v1::Bundle>* side : {&baseline, &migrated}) {
      for (v1::Bundle& bundle : *side) {
        if (shared) lists->Take(bundle);
      }
    }
    std::string asked;
    const auto set = AnsweredEvidence(
        std::move(baseline), std::move(migrated), {},
        [&](const DatasetQuestion& question, v1::FileList& list) {
          ASSERT_EQ(list.files_size(), 300);
          absl::StrAppend(&asked, SideName(question.side), question.bundle, " ");
        },
        lists);
    EXPECT_THAT(asked, testing::HasSubstr("migrated0 "));
    EXPECT_THAT(asked, testing::Not(testing::HasSubstr("migrated1")));
    for (const v1::Bundle& bundle : set->bundles(Side::kMigrated)) {
      EXPECT_EQ(set->FilesOf(bundle.evidence(0).files()).size(), 300);
    }
  }
}

}  // namespace
}  // namespace paritect
