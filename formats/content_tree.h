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
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

inline constexpr std::size_t kTreeFanOut = 32;

struct ContentTree {
  std::string root;                                     // SHA-256; of no content at all: of the empty text
  int depth = 0;                                        // levels of nodes above the leaves
  absl::flat_hash_map<std::string, std::string> nodes;  // digest -> its children's digests
};

// `leaves`: SHA-256 of each content, in their order.
ContentTree MakeContentTree(absl::Span<const std::string> leaves);

// What goes from one who has the tree to one who has contents already.
struct TreeExchange {
  std::vector<std::string> nodes;   // digests of the nodes to send, upper ones first
  std::vector<std::string> leaves;  // digests of the contents to send, each once
  int rounds = 0;                   // question and answer; 1: the root is known, nothing else goes
  std::size_t bytes = 0;            // offers, answers and nodes; without the leaves' contents
};
// `has` says whether the other one holds a digest (of a node: with everything below it).
TreeExchange PlanExchange(const ContentTree& tree, absl::FunctionRef<bool(absl::string_view sha256)> has);

}  // namespace paritect

#endif  // PARITECT_FORMATS_CONTENT_TREE_H_
