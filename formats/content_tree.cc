#include "formats/content_tree.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "common/digest.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kQuestionHeadBytes = 16;  // what stands beside the digests of a question and its answer

bool EndsNode(absl::string_view digest, std::size_t children) {
  return static_cast<unsigned char>(digest.back()) % kTreeFanOut == 0 || children >= kTreeChildrenMax;
}

void AddNode(std::string node, ContentTree& tree, std::vector<std::string>& above) {
  std::string digest = Sha256(node);
  if (tree.nodes.emplace(digest, std::move(node)).second) tree.order.push_back({digest, tree.depth + 1});
  above.push_back(std::move(digest));
}

// One level of nodes over `level`. `by_count`: where digests decide of it, it would not shrink.
std::vector<std::string> LevelAbove(const std::vector<std::string>& level, bool by_count, ContentTree& tree) {
  std::vector<std::string> above;
  std::string node;
  for (const std::string& digest : level) {
    node += digest;
    const std::size_t children = node.size() / kTreeDigestBytes;
    if (by_count ? children < kTreeChildrenMax : !EndsNode(digest, children)) continue;
    AddNode(std::move(node), tree, above);
    node.clear();
  }
  if (!node.empty() || above.empty()) AddNode(std::move(node), tree, above);
  return above;
}

// Left to right, upper nodes before what is below them.
class LeafWalk {
 public:
  explicit LeafWalk(absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view)> node) : node_(node) {}

  absl::Status Below(absl::string_view digest, int depth) {
    PARITECT_ASSIGN_OR_RETURN(const std::string content, node_(digest));
    if (!IsTreeNode(content)) return absl::DataLossError("a node of its tree is no list of digests");
    for (absl::string_view child : TreeChildren(content)) {
      if (depth > 1) {
        PARITECT_RETURN_IF_ERROR(Below(child, depth - 1));
      } else if (leaves_.size() >= kTreeLeavesMax) {
        return absl::ResourceExhaustedError("its tree has too many leaves");
      } else {
        leaves_.emplace_back(child);
      }
    }
    return absl::OkStatus();
  }
  std::vector<std::string> Take() { return std::move(leaves_); }

 private:
  absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view)> node_;
  std::vector<std::string> leaves_;
};

}  // namespace

bool IsTreeNode(absl::string_view content) {
  return !content.empty() && content.size() % kTreeDigestBytes == 0 &&
         content.size() / kTreeDigestBytes <= kTreeChildrenMax;
}

std::vector<absl::string_view> TreeChildren(absl::string_view node) {
  std::vector<absl::string_view> children;
  for (; !node.empty(); node.remove_prefix(std::min(node.size(), kTreeDigestBytes))) {
    children.push_back(node.substr(0, kTreeDigestBytes));
  }
  return children;
}

absl::StatusOr<std::vector<std::string>> TreeLeaves(
    absl::string_view root, int depth, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> node) {
  if (depth < 1 || depth > kTreeDepthMax) return absl::ResourceExhaustedError("its tree has too many levels");
  LeafWalk walk(node);
  PARITECT_RETURN_IF_ERROR(walk.Below(root, depth));
  return walk.Take();
}

ContentTree MakeContentTree(absl::Span<const std::string> leaves) {
  ContentTree tree;
  std::vector<std::string> level(leaves.begin(), leaves.end());
  // One leaf has a node of its own too: the root is always a node, so that no content can pass for one.
  for (bool by_count = false; tree.depth == 0 || level.size() > 1; ++tree.depth) {
    std::vector<std::string> above = LevelAbove(level, by_count, tree);
    // Levels that do not shrink would never end: chance, or contents that somebody chose.
    by_count = above.size() * 2 > level.size();
    level = std::move(above);
  }
  tree.root = level.front();
  return tree;
}

TreeExchange PlanExchange(
    const ContentTree& tree,
    absl::FunctionRef<std::vector<bool>(const std::vector<std::string>& digests, int level)> holds) {
  TreeExchange out;
  std::vector<std::string> asked = {tree.root};
  absl::flat_hash_set<std::string> sent;
  for (int level = tree.depth; !asked.empty(); --level) {
    ++out.rounds;
    const std::vector<bool> held = holds(asked, level);
    out.bytes += kQuestionHeadBytes + asked.size() * kTreeDigestBytes + (asked.size() + 7) / 8;
    std::vector<std::string> below;
    absl::flat_hash_set<absl::string_view> seen;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if ((i < held.size() && held[i]) || !sent.insert(asked[i]).second) continue;
      if (level == 0) {
        out.leaves.push_back(asked[i]);
        continue;
      }
      const std::string& node = tree.nodes.at(asked[i]);
      out.nodes.push_back({asked[i], level});
      out.bytes += node.size();
      for (absl::string_view child : TreeChildren(node)) {
        if (seen.insert(child).second) below.emplace_back(child);
      }
    }
    asked = std::move(below);
  }
  std::reverse(out.nodes.begin(), out.nodes.end());
  return out;
}

}  // namespace paritect
