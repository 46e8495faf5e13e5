#include "checks/weights/copies.h"

#include <map>
#include <set>
#include <utility>

#include "checks/weights/law.h"

namespace paritect {
namespace {

using Key = std::pair<std::uint64_t, ValueHashes>;

const ModelTensor& Of(const TensorPair& pair, Side side) {
  return side == Side::kBaseline ? *pair.a.front() : *pair.b.front();
}

}  // namespace

std::vector<Copies> CopiesOnOneSide(const PairedStates& states) {
  std::vector<Copies> found;
  for (const Side side : kBothSides) {
    const Side other = side == Side::kBaseline ? Side::kMigrated : Side::kBaseline;
    std::map<Key, std::vector<const TensorPair*>> by_values;
    for (const TensorPair& pair : states.match().pairs) {
      if (!pair.one_to_one() || PairedStates::IsDerived(pair)) continue;
      const ModelTensor& tensor = Of(pair, side);
      const std::optional<ValueHashes> values = tensor.values();
      if (!values.has_value() || IsConstant(tensor.first())) continue;
      by_values[{tensor.elements(), *values}].push_back(&pair);
    }
    std::map<std::size_t, Copies> in_order;  // by the place of the first
    for (const auto& [values, pairs] : by_values) {
      std::set<Key> others;
      Copies copies = {side, {}};
      for (const TensorPair* pair : pairs) {
        const ModelTensor& partner = Of(*pair, other);
        others.emplace(partner.elements(), partner.values().value_or(ValueHashes()));
        copies.names.push_back(Of(*pair, side).name);
      }
      if (others.size() < 2) continue;
      in_order.emplace(static_cast<std::size_t>(pairs.front() - states.match().pairs.data()), std::move(copies));
    }
    for (auto& [place, copies] : in_order) found.push_back(std::move(copies));
  }
  return found;
}

}  // namespace paritect
