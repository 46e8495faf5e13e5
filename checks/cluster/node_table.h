// Values of many nodes, compactly: names x nodes, each different text kept once. Ten thousand nodes of five hundred
// keys are five million cells of four bytes. Texts are views into the evidence, which must outlive the table.
#ifndef PARITECT_CHECKS_CLUSTER_NODE_TABLE_H_
#define PARITECT_CHECKS_CLUSTER_NODE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace paritect {

class NodeTable {
 public:
  // Index of a node's column; a name that is there keeps its own.
  std::uint32_t Node(absl::string_view name);
  // Sets the cell; of several values of one node the last counts.
  void Set(std::uint32_t node, absl::string_view key, absl::string_view value);

  std::size_t nodes() const { return nodes_.size(); }
  absl::string_view node_name(std::uint32_t node) const { return nodes_[node]; }

  // The cells of one key, by node. A key that fewer nodes have ends early.
  struct Row {
    absl::string_view key;
    const std::vector<std::uint32_t>* cells;
  };
  // Every key in byte order.
  void ForEachRow(absl::FunctionRef<void(const Row&)> visit) const;
  // Cells that hold nothing are kUnset.
  static constexpr std::uint32_t kUnset = 0;
  absl::string_view text(std::uint32_t cell) const { return texts_[cell]; }

 private:
  std::vector<absl::string_view> nodes_;
  absl::flat_hash_map<absl::string_view, std::uint32_t> node_index_;
  std::vector<absl::string_view> texts_ = {""};
  absl::flat_hash_map<absl::string_view, std::uint32_t> text_index_;
  absl::flat_hash_map<absl::string_view, std::uint32_t> key_index_;
  std::vector<absl::string_view> keys_;
  std::vector<std::vector<std::uint32_t>> cells_;
  std::vector<std::uint32_t> last_text_;  // per key: nodes mostly repeat each other
  // Nodes list their keys in one order: the key after this one last time.
  std::vector<std::uint32_t> next_key_;
  std::uint32_t previous_key_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_CLUSTER_NODE_TABLE_H_
