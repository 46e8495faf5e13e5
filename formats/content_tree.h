// A list of contents as a tree of digests: two lists that are equal have one root, and where they differ, only the
// nodes above the differences do. No I/O.
//
// A node's content is the concatenation of its children's SHA-256. Where a node ends is decided by the digests
// themselves (the last byte of a child), never by position: what stands before or behind a difference falls into the
// same nodes on both sides. A node has kTreeFanOut children in the middle.
#ifndef PARITECT_FORMATS_CONTENT_TREE_H_
#define PARITECT_FORMATS_CONTENT_TREE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

inline constexpr std::size_t kTreeFanOut = 32;
inline constexpr std::size_t kTreeDigestBytes = 32;
inline constexpr std::size_t kTreeChildrenMax = 8 * kTreeFanOut;
// A tree of 32^6 leaves is of far more than kEvidenceBytesMax; whoever claims more is not believed.
inline constexpr int kTreeDepthMax = 12;
inline constexpr std::size_t kTreeLeavesMax = std::size_t{1} << 20;

struct TreeNode {
  std::string sha256;
  int level = 1;  // above the leaves
};

struct ContentTree {
  std::string root;                                     // SHA-256; of no content at all: of the empty text
  int depth = 0;                                        // levels of nodes above the leaves
  absl::flat_hash_map<std::string, std::string> nodes;  // digest -> its children's digests
  std::vector<TreeNode> order;                          // the nodes, each behind all of its children
};

// `leaves`: SHA-256 of each content, in their order.
ContentTree MakeContentTree(absl::Span<const std::string> leaves);

// Whether these bytes can be a node: whole digests, at least one and at most kTreeChildrenMax.
bool IsTreeNode(absl::string_view content);

// The children of a node that IsTreeNode takes.
std::vector<absl::string_view> TreeChildren(absl::string_view node);

// The leaves below `root`, in their order. `node` gives a node's content by its digest; its errors are passed on.
// DataLoss: what it gives is no node. ResourceExhausted: more than kTreeDepthMax levels or kTreeLeavesMax leaves.
absl::StatusOr<std::vector<std::string>> TreeLeaves(
    absl::string_view root, int depth, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> node);

// What goes from one who has the tree to one who has contents already.
struct TreeExchange {
  std::vector<TreeNode> nodes;      // to send, each behind all of its children that go too
  std::vector<std::string> leaves;  // digests of the contents to send, each once
  int rounds = 0;                   // question and answer; 1: the root is known, nothing else goes
  std::size_t bytes = 0;            // questions, answers and nodes; without the leaves' contents
};
// `holds` says of each digest whether the other one holds it (of nodes: with everything below); it is asked once a
// level, 0 for the leaves. A wrong or missing "no" costs bytes alone.
TreeExchange PlanExchange(
    const ContentTree& tree,
    absl::FunctionRef<std::vector<bool>(const std::vector<std::string>& digests, int level)> holds);

}  // namespace paritect

#endif  // PARITECT_FORMATS_CONTENT_TREE_H_
