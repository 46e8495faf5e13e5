#include "checks/weights/orientation.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "checks/weights/layout.h"

namespace paritect {
namespace {

using Axes = std::vector<std::size_t>;

// Straight or transposed, as far as its own evidence tells.
bool MayBeTurned(const TensorPair& pair, Sameness sameness) {
  const bool plain = sameness == Sameness::kSameBytes || sameness == Sameness::kSameValues ||
                     sameness == Sameness::kRounded || sameness == Sameness::kTransposed;
  return plain && pair.one_to_one() && pair.a[0]->whole() && pair.b[0]->whole() && pair.a[0]->first().shape_size() >= 2;
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

// The nearest kin first. What implementations keep in two ways, one file keeps in one.
std::vector<std::string> KindsOf(const TensorPair& pair) {
  const bool either = pair.a[0]->either || pair.b[0]->either;
  const std::string wider = absl::StrCat("either ", pair.a[0]->either ? "a" : "", pair.b[0]->either ? "b" : "",
                                         pair.a[0]->first().shape_size());
  return {KindOf(pair, 2), either ? wider : KindOf(pair, 1)};
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

// One order of axes for both: no name and no format says that another may stand there.
bool AreBound(const ModelTensor& a, const ModelTensor& b) {
  const bool free = (a.either && b.either) || (a.format != b.format && (a.any_axes || b.any_axes));
  return !free && a.unwrapped == b.unwrapped;
}

std::vector<std::int64_t> LongSizes(const v1::TensorFingerprint& tensor) {
  std::vector<std::int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
  std::erase(sizes, 1);
  return sizes;
}

}  // namespace

std::optional<Orientation::AxisMap> Orientation::MapOf(const TensorPair& pair) {
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

Orientation::Orientation(const std::vector<TensorPair>& pairs, const std::vector<Sameness>& sameness)
    : pairs_(pairs), sameness_(sameness) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    maps_.push_back(MayBeTurned(pairs[i], sameness[i]) ? MapOf(pairs[i]) : std::nullopt);
    if (!maps_[i].has_value() || !maps_[i]->by_size || maps_[i]->axes.size() < 2) continue;
    for (const std::string& kind : KindsOf(pairs[i])) ++seen_[kind][maps_[i]->axes];
  }
}

std::optional<Axes> Orientation::SeenBeside(std::size_t pair) const {
  const std::optional<AxisMap>& own = maps_[pair];
  const bool counted = own.has_value() && own->by_size && own->axes.size() >= 2;
  const auto rank = static_cast<std::size_t>(pairs_[pair].a[0]->first().shape_size());
  for (const std::string& kind : KindsOf(pairs_[pair])) {
    const auto seen = seen_.find(kind);
    if (seen == seen_.end()) continue;
    std::map<Axes, int> others = seen->second;
    if (counted && --others[own->axes] == 0) others.erase(own->axes);
    if (others.size() == 1 && others.begin()->first.size() == rank)
      return LongAxesOf(pairs_[pair].a[0]->first(), others.begin()->first);
  }
  return std::nullopt;
}

std::optional<Axes> Orientation::Expected(std::size_t pair) const {
  const ModelTensor& a = *pairs_[pair].a[0];
  const ModelTensor& b = *pairs_[pair].b[0];
  const auto rank = static_cast<std::size_t>(a.first().shape_size());
  Axes straight(rank);
  std::iota(straight.begin(), straight.end(), 0);
  if (AreBound(a, b)) {
    const std::optional<Axes> seen = a.format == b.format ? std::nullopt : SeenBeside(pair);
    return seen.has_value() ? seen : LongAxesOf(a.first(), straight);
  }
  const bool open = a.either || b.either || a.canonical != b.canonical;
  if (const std::optional<Axes> seen = SeenBeside(pair)) return seen;
  if (open) return std::nullopt;
  if (a.turned != b.turned) return LongAxesOf(a.first(), Turned(rank, a.turned));
  if (a.format != b.format && (a.any_axes || b.any_axes)) return std::nullopt;
  return LongAxesOf(a.first(), straight);
}

Sameness Orientation::Judge(std::size_t pair) const {
  const std::optional<AxisMap>& map = maps_[pair];
  if (!map.has_value() || map->tied) return sameness_[pair];
  const std::optional<Axes> expected = Expected(pair);
  const bool straight = std::is_sorted(map->axes.begin(), map->axes.end());
  if (!expected.has_value()) return straight || map->by_size ? sameness_[pair] : Sameness::kUnplaced;
  if (map->axes == *expected) return sameness_[pair];
  // One name in two formats: whoever takes such sizes has the axes so, and the values are the same.
  const ModelTensor& a = *pairs_[pair].a[0];
  const ModelTensor& b = *pairs_[pair].b[0];
  if (a.format != b.format && AreBound(a, b) && map->by_size && !SeenBeside(pair).has_value()) return sameness_[pair];
  return straight ? Sameness::kNotTurned : Sameness::kTurned;
}

ShapeRelation Orientation::ShapeOf(std::size_t pair) const {
  const TensorPair& one = pairs_[pair];
  if (!one.one_to_one() || !one.a[0]->whole() || !one.b[0]->whole()) return ShapeRelation::kSame;
  const v1::TensorFingerprint& a = one.a[0]->first();
  const std::vector<std::int64_t> left = LongSizes(a), right = LongSizes(one.b[0]->first());
  std::vector<std::int64_t> left_sorted = left, right_sorted = right;
  std::sort(left_sorted.begin(), left_sorted.end());
  std::sort(right_sorted.begin(), right_sorted.end());
  if (left_sorted != right_sorted) return ShapeRelation::kOther;
  const std::optional<Axes> expected = left.size() < 2 ? std::nullopt : Expected(pair);
  if (!expected.has_value()) return left == right ? ShapeRelation::kSame : ShapeRelation::kTransposed;
  std::vector<std::int64_t> wanted;
  for (const std::size_t axis : *expected) wanted.push_back(a.shape(static_cast<int>(axis)));
  if (wanted != right) return ShapeRelation::kWrongOrder;
  return left == right ? ShapeRelation::kSame : ShapeRelation::kTransposed;
}

}  // namespace paritect
