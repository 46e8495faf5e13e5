#include "formats/content_tree.h"

#include "absl/container/flat_hash_set.h"
#include "common/digest.h"

namespace paritect {
namespace {

constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kChildrenMax = 8 * kTreeFanOut;
constexpr std::size_t kOfferHeadBytes = 16;  // depth, number of contents, their bytes: what stands beside the root

bool EndsNode(absl::string_view digest, std::size_t children) {
  return static_cast<unsigned char>(digest.back()) % kTreeFanOut == 0 || children >= kChildrenMax;
}

}  // namespace

ContentTree MakeContentTree(absl::Span<const std::string> leaves) {
  ContentTree tree;
  std::vector<std::string> level(leaves.begin(), leaves.end());
  // One leaf has a node of its own too: the root is always a node, so that no content can pass for one.
  do {
    std::vector<std::string> above;
    std::string node;
    for (std::size_t i = 0; i <= level.size(); ++i) {
      const bool end = i == level.size();
      if (!end) node += level[i];
      const std::size_t children = node.size() / kDigestBytes;
      if (end ? (!node.empty() || above.empty()) : EndsNode(level[i], children)) {
        std::string digest = Sha256(node);
        tree.nodes[digest] = std::move(node);
        above.push_back(std::move(digest));
        node.clear();
      }
    }
    // Levels that do not shrink would never end.
    if (above.size() == level.size() && above.size() > 1) {
      std::string all;
      for (const std::string& digest : above) all += digest;
      std::string digest = Sha256(all);
      tree.nodes[digest] = std::move(all);
      above = {std::move(digest)};
      ++tree.depth;
    }
    level = std::move(above);
    ++tree.depth;
  } while (level.size() > 1);
  tree.root = level.front();
  return tree;
}

TreeExchange PlanExchange(const ContentTree& tree, absl::FunctionRef<bool(absl::string_view sha256)> has) {
  TreeExchange out;
  std::vector<std::string> offered = {tree.root};
  absl::flat_hash_set<std::string> seen;
  out.bytes = kOfferHeadBytes;
  while (!offered.empty()) {
    ++out.rounds;
    std::vector<std::string> below;
    for (const std::string& digest : offered) {
      if (out.rounds == 1) out.bytes += kDigestBytes;  // later ones stand in the node above
      if (has(digest) || !seen.insert(digest).second) continue;
      out.bytes += 4;  // the answer: its place in what was offered
      auto node = tree.nodes.find(digest);
      if (node == tree.nodes.end()) {
        out.leaves.push_back(digest);
        continue;
      }
      out.nodes.push_back(digest);
      out.bytes += node->second.size();
      for (std::size_t at = 0; at < node->second.size(); at += kDigestBytes) {
        below.push_back(node->second.substr(at, kDigestBytes));
      }
    }
    offered = std::move(below);
  }
  return out;
}

}  // namespace paritect
