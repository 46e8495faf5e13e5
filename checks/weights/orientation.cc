#include "checks/weights/orientation.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "checks/weights/layout.h"

namespace paritect {
namespace {

using Axes = std::vector<std::size_t>;

bool MayBeTurned(const TensorPair& pair, Sameness sameness) {
  const bool plain = sameness == Sameness::kSameBytes || sameness == Sameness::kSameValues ||
                     sameness == Sameness::kRounded || sameness == Sameness::kTransposed;
  return plain && pair.one_to_one() && pair.a[0]->whole() && pair.b[0]->whole() && pair.a[0]->first().shape_size() >= 2;
}

struct AxisMap {
  Axes axes;            // of a, in the order of b
  bool by_size = true;  // no other order has these sizes
  bool tied = false;    // another order would hold the same values
};

// nullopt: the axes are not recorded, or are others.
std::optional<AxisMap> MapOf(const TensorPair& pair) {
  for (const auto& [a_as, b_as] :
       {std::pair<const char*, const char*>{"", ""}, {"BF16", ""}, {"F16", ""}, {"", "BF16"}, {"", "F16"}}) {
    const std::optional<PlacedValues> a = PlacedOf(pair.a[0]->first(), a_as), b = PlacedOf(pair.b[0]->first(), b_as);
    if (!a.has_value() || !b.has_value()) continue;
    AxisMap map;
    std::set<std::size_t> taken;
    for (const auto& wanted : b->LongAxes()) {
      std::size_t found = a->shape.size(), fitting = 0, as_long = 0;
      for (std::size_t i = 0; i < a->axes.size(); ++i) {
        if (a->shape[i] == 1 || a->shape[i] != wanted.first) continue;
        ++as_long;
        if (a->axes[i] != wanted.second) continue;
        ++fitting;
        if (!taken.contains(i)) found = std::min(found, i);
      }
      if (found == a->shape.size()) break;
      map.by_size = map.by_size && as_long == 1;
      map.tied = map.tied || fitting > 1;
      taken.insert(found);
      map.axes.push_back(found);
    }
    if (map.axes.size() == b->LongAxes().size() && map.axes.size() == a->LongAxes().size()) return map;
  }
  return std::nullopt;
}

// "layers.3.fc1.weight": "fc.weight", or the last component alone.
std::string KindOf(absl::string_view name, int components) {
  std::string kind;
  for (std::size_t i = name.size(); i-- > 0;) {
    if ((name[i] == '.' || name[i] == '/') && --components == 0) break;
    if (name[i] < '0' || name[i] > '9') kind.push_back(name[i]);
  }
  return kind;  // backwards: it is compared, never shown
}

std::string KindOf(const TensorPair& pair, int components) {
  return absl::StrCat(KindOf(pair.a[0]->name, components), "\n", KindOf(pair.b[0]->name, components), "\n",
                      pair.a[0]->first().shape_size(), " ", components);
}

Axes LongAxesOf(const v1::TensorFingerprint& tensor, const Axes& all) {
  Axes axes;
  for (const std::size_t axis : all) {
    if (tensor.shape(static_cast<int>(axis)) != 1) axes.push_back(axis);
  }
  return axes;
}

// Input and output change places, and places in space go behind them or before: [in, out] and [out, in],
// [height, width, in, out] and [out, in, height, width].
Axes Turned(std::size_t rank, bool a_is_turned) {
  Axes axes;
  if (a_is_turned) {
    axes = {rank - 1, rank - 2};
    for (std::size_t i = 0; i + 2 < rank; ++i) axes.push_back(i);
  } else {
    for (std::size_t i = 2; i < rank; ++i) axes.push_back(i);
    axes.insert(axes.end(), {1, 0});
  }
  return axes;
}

}  // namespace

Orientation::Orientation(const std::vector<TensorPair>& pairs, const std::vector<Sameness>& sameness) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!MayBeTurned(pairs[i], sameness[i])) continue;
    const std::optional<AxisMap> map = MapOf(pairs[i]);
    if (!map.has_value() || !map->by_size || map->axes.size() < 2) continue;
    for (const int components : {2, 1}) seen_[KindOf(pairs[i], components)].insert(map->axes);
  }
}

std::optional<Axes> Orientation::Expected(const TensorPair& pair) const {
  const ModelTensor& a = *pair.a[0];
  const ModelTensor& b = *pair.b[0];
  const auto rank = static_cast<std::size_t>(a.first().shape_size());
  for (const int components : {2, 1}) {
    const auto seen = seen_.find(KindOf(pair, components));
    if (seen != seen_.end() && seen->second.size() == 1 && seen->second.begin()->size() == rank)
      return LongAxesOf(a.first(), *seen->second.begin());
  }
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (a.turned != b.turned) {
    axes = Turned(rank, a.turned);
  } else if (a.canonical != b.canonical) {
    return std::nullopt;
  }
  return LongAxesOf(a.first(), axes);
}

Sameness Orientation::Judge(const TensorPair& pair, Sameness sameness) const {
  if (!MayBeTurned(pair, sameness)) return sameness;
  const std::optional<AxisMap> map = MapOf(pair);
  if (!map.has_value() || map->by_size || map->tied) return sameness;
  const std::optional<Axes> expected = Expected(pair);
  const bool straight = std::is_sorted(map->axes.begin(), map->axes.end());
  if (!expected.has_value()) return straight ? sameness : Sameness::kUnplaced;
  if (map->axes == *expected) return sameness;
  return straight ? Sameness::kNotTurned : Sameness::kTurned;
}

}  // namespace paritect
