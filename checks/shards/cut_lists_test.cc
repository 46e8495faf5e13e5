#include "checks/shards/cut_lists.h"

#include "absl/strings/match.h"
#include "checks/shards/fixture.h"

namespace paritect {
namespace {

// `open`: ranks whose list has no last line end.
v1::Bundle SideOf(absl::string_view name, const std::vector<Items>& lists, const std::set<int>& open) {
  v1::Bundle bundle = RunOf(name, lists);
  for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
    if (open.contains(evidence.rank())) evidence.mutable_shards()->add_notes()->set_kind("no_final_line_end");
  }
  return bundle;
}

std::vector<Items> Cut(std::vector<Items> lists, std::size_t kept, std::size_t bytes) {
  lists[1].resize(kept);
  std::string& last = lists[1].back();
  last = last.substr(0, last.size() - bytes);
  return lists;
}

TEST(CutLists, AListThatEndsInANameIsNotWhole) {
  const std::vector<Items> lists = Stride(Files(24), 2);
  for (std::size_t kept : {12, 7, 2}) {
    for (const auto& [gpu, npu] : {std::pair(lists, Cut(lists, kept, 3)), std::pair(Cut(lists, kept, 3), lists)}) {
      const Audit audit({SideOf("gpu", gpu, gpu == lists ? std::set<int>() : std::set<int>{1})},
                        {SideOf("npu", npu, npu == lists ? std::set<int>() : std::set<int>{1})});
      EXPECT_EQ(audit.Says("same-assignment"), "none") << kept;
      EXPECT_EQ(audit.Says("complete"), "none expected_from_union@train") << kept;
      EXPECT_NE(audit.Verdict("rule"), v1::VERDICT_FAIL) << kept;
      EXPECT_NE(audit.Verdict("disjoint"), v1::VERDICT_FAIL) << kept;
    }
  }
  // Numbers are cut as well.
  const std::vector<Items> numbers = Stride(Numbers(200), 2);
  EXPECT_EQ(Audit({SideOf("gpu", numbers, {})}, {SideOf("npu", Cut(numbers, 80, 1), {1})}).Says("same-assignment"),
            "none");
  // Just behind a name, where the other lists of the run end with a line end.
  EXPECT_EQ(Audit({SideOf("gpu", lists, {})}, {SideOf("npu", Cut(lists, 7, 0), {1})}).Says("same-assignment"), "none");
}

TEST(CutLists, JoinedNamesAreWhole) {
  const std::vector<Items> lists = Stride(Files(24), 2);
  EXPECT_EQ(Audit({SideOf("gpu", lists, {})}, {SideOf("npu", lists, {0, 1})}).Verdicts(), "PPPPP");
  // A rank that reads less, and one that reads another file, are faults.
  EXPECT_EQ(Audit({SideOf("gpu", lists, {})}, {SideOf("npu", Cut(lists, 11, 0), {0, 1})}).Verdict("complete"),
            v1::VERDICT_FAIL);
  std::vector<Items> other = lists;
  other[1].back() = "/data/x/other.tar";
  EXPECT_EQ(Audit({SideOf("gpu", lists, {})}, {SideOf("npu", other, {0, 1})}).Verdict("same-assignment"),
            v1::VERDICT_FAIL);
  // With a last line end nothing was cut.
  EXPECT_EQ(Audit({SideOf("gpu", lists, {})}, {SideOf("npu", Cut(lists, 12, 3), {})}).Verdict("same-assignment"),
            v1::VERDICT_FAIL);
}

}  // namespace
}  // namespace paritect
