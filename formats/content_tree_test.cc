#include "formats/content_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Leaves(int n) {
  std::vector<std::string> out;
  for (int i = 0; i < n; ++i) out.push_back(Sha256(absl::StrCat("content ", i)));
  return out;
}

struct Store {
  absl::flat_hash_set<std::string> held;
  void Take(const ContentTree& tree, const std::vector<std::string>& leaves) {
    for (const auto& [digest, node] : tree.nodes) held.insert(digest);
    held.insert(leaves.begin(), leaves.end());
  }
  std::vector<bool> operator()(const std::vector<std::string>& digests, int) const {
    std::vector<bool> out;
    for (const std::string& digest : digests) out.push_back(held.contains(digest));
    return out;
  }
};

TEST(ContentTree, EqualListsCostTheirRoot) {
  for (int n : {0, 1, 2, 31, 1000, 20'000}) {
    const std::vector<std::string> leaves = Leaves(n);
    const ContentTree tree = MakeContentTree(leaves);
    EXPECT_EQ(tree.root, MakeContentTree(leaves).root);
    Store store;
    store.Take(tree, leaves);
    const TreeExchange exchange = PlanExchange(tree, store);
    EXPECT_EQ(exchange.rounds, 1) << n;
    EXPECT_LE(exchange.bytes, 100u) << n;
    EXPECT_THAT(exchange.leaves, IsEmpty());
  }
}

TEST(ContentTree, DifferencesCostTheirPaths) {
  const std::vector<std::string> before = Leaves(20'000);
  Store store;
  store.Take(MakeContentTree(before), before);
  std::vector<std::string> after = before;
  after.erase(after.begin() + 777);
  after.insert(after.begin() + 12'000, Sha256("new"));
  after[19'000] = Sha256("changed");
  const TreeExchange exchange = PlanExchange(MakeContentTree(after), store);
  EXPECT_THAT(exchange.leaves, ElementsAre(Sha256("new"), Sha256("changed")));
  EXPECT_LT(exchange.bytes, 40'000u);
  EXPECT_LE(exchange.rounds, 6);
}

TEST(ContentTree, AnEmptyStoreTakesEverythingOnce) {
  std::vector<std::string> leaves = Leaves(500);
  const std::vector<std::string> again = leaves;
  leaves.insert(leaves.end(), again.begin(), again.end());
  const TreeExchange exchange = PlanExchange(MakeContentTree(leaves), [](const std::vector<std::string>& digests, int) {
    return std::vector<bool>(digests.size());
  });
  EXPECT_EQ(exchange.leaves.size(), 500u);
}

TEST(ContentTree, NodesGoBehindWhatTheyStandFor) {
  const std::vector<std::string> leaves = Leaves(20'000);
  const ContentTree tree = MakeContentTree(leaves);
  const TreeExchange exchange = PlanExchange(tree, [](const std::vector<std::string>&, int) {
    return std::vector<bool>();  // no answer came: all goes
  });
  for (const std::vector<TreeNode>& order : {exchange.nodes, tree.order}) {
    absl::flat_hash_set<std::string> there(leaves.begin(), leaves.end());
    EXPECT_EQ(order.size(), tree.nodes.size());
    for (const TreeNode& node : order) {
      ASSERT_TRUE(IsTreeNode(tree.nodes.at(node.sha256)));
      for (absl::string_view child : TreeChildren(tree.nodes.at(node.sha256))) EXPECT_TRUE(there.contains(child));
      there.insert(node.sha256);
    }
  }
}

TEST(ContentTree, GivesItsLeavesBack) {
  for (int n : {1, 2, 40, 3000}) {
    const std::vector<std::string> leaves = Leaves(n);
    const ContentTree tree = MakeContentTree(leaves);
    const auto node = [&](absl::string_view digest) -> absl::StatusOr<std::string> {
      const auto found = tree.nodes.find(std::string(digest));
      if (found == tree.nodes.end()) return absl::NotFoundError("no such node");
      return found->second;
    };
    EXPECT_EQ(*TreeLeaves(tree.root, tree.depth, node), leaves);
    EXPECT_EQ(TreeLeaves(tree.root, tree.depth + 1, node).status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(TreeLeaves(tree.root, 0, node).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(ContentTree, AHostileTreeIsBounded) {
  std::string wide;  // 256 times the same child at every level: 2^64 leaves
  for (std::size_t i = 0; i < kTreeChildrenMax; ++i) wide += Sha256("child");
  const auto node = [&](absl::string_view) -> absl::StatusOr<std::string> { return wide; };
  EXPECT_EQ(TreeLeaves(Sha256("r"), 8, node).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TreeLeaves(Sha256("r"), 1'000'000, node).status().code(), absl::StatusCode::kResourceExhausted);
  const auto odd = [&](absl::string_view) -> absl::StatusOr<std::string> { return "no digests"; };
  EXPECT_EQ(TreeLeaves(Sha256("r"), 2, odd).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(IsTreeNode(""));
  EXPECT_FALSE(IsTreeNode(wide + Sha256("one more")));
}

TEST(ContentTree, ContentsThatEndEveryNodeStillGiveATree) {
  std::vector<std::string> leaves = Leaves(2000);
  for (std::string& leaf : leaves) leaf.back() = 0;
  const ContentTree tree = MakeContentTree(leaves);
  EXPECT_LE(tree.depth, 5);
  for (const auto& [digest, node] : tree.nodes) EXPECT_TRUE(IsTreeNode(node));
}

TEST(ContentTree, OrderCounts) {
  std::vector<std::string> leaves = Leaves(50);
  const std::string root = MakeContentTree(leaves).root;
  std::swap(leaves[3], leaves[4]);
  EXPECT_NE(MakeContentTree(leaves).root, root);
}

}  // namespace
}  // namespace paritect
