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
  bool operator()(absl::string_view digest) const { return held.contains(std::string(digest)); }
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
  EXPECT_LT(exchange.bytes, 30'000u);
  EXPECT_LE(exchange.rounds, 6);
}

TEST(ContentTree, AnEmptyStoreTakesEverythingOnce) {
  std::vector<std::string> leaves = Leaves(500);
  const std::vector<std::string> again = leaves;
  leaves.insert(leaves.end(), again.begin(), again.end());
  const TreeExchange exchange = PlanExchange(MakeContentTree(leaves), [](absl::string_view) { return false; });
  EXPECT_EQ(exchange.leaves.size(), 500u);
}

TEST(ContentTree, OrderCounts) {
  std::vector<std::string> leaves = Leaves(50);
  const std::string root = MakeContentTree(leaves).root;
  std::swap(leaves[3], leaves[4]);
  EXPECT_NE(MakeContentTree(leaves).root, root);
}

}  // namespace
}  // namespace paritect
