#include "checks/cluster/node_table.h"

#include <algorithm>

namespace paritect {

std::uint32_t NodeTable::Node(absl::string_view name) {
  auto [it, added] = node_index_.try_emplace(name, static_cast<std::uint32_t>(nodes_.size()));
  if (added) nodes_.push_back(name);
  return it->second;
}

void NodeTable::Set(std::uint32_t node, absl::string_view key, absl::string_view value) {
  // Guess by what the node before had at this place; a wrong guess costs a comparison.
  std::uint32_t row = 0;
  const std::uint32_t guess = previous_key_ < next_key_.size() ? next_key_[previous_key_] : 0;
  if (guess < keys_.size() && keys_[guess] == key) {
    row = guess;
  } else {
    auto [it, added] = key_index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    row = it->second;
    if (added) {
      keys_.push_back(key);
      cells_.emplace_back();
      last_text_.push_back(kUnset);
      next_key_.push_back(0);
    }
    if (previous_key_ < next_key_.size()) next_key_[previous_key_] = row;
  }
  previous_key_ = row;
  std::uint32_t text = last_text_[row];
  if (text == kUnset || texts_[text] != value) {
    auto [it, added] = text_index_.try_emplace(value, static_cast<std::uint32_t>(texts_.size()));
    if (added) texts_.push_back(value);
    text = it->second;
    last_text_[row] = text;
  }
  std::vector<std::uint32_t>& cells = cells_[row];
  if (cells.size() <= node) cells.resize(std::max<std::size_t>(node + 1, nodes_.size()), kUnset);
  cells[node] = text;
}

void NodeTable::ForEachRow(absl::FunctionRef<void(const Row&)> visit) const {
  std::vector<std::uint32_t> order(keys_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys_[a] < keys_[b]; });
  for (std::uint32_t row : order) visit({keys_[row], &cells_[row]});
}

}  // namespace paritect
