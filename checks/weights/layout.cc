#include "checks/weights/layout.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "common/tensor_hashes.h"

namespace paritect {
namespace {

using Sizes = std::vector<std::int64_t>;
using Axis = std::pair<std::int64_t, std::uint64_t>;

Sizes LongSizes(Sizes shape) {
  std::erase(shape, 1);
  return shape;
}

template <typename T>
std::vector<T> Sorted(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::uint64_t ElementsOf(const Sizes& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

// Where axes end in C order: shapes that are cut from each other end in places of one of them.
std::set<std::int64_t> Borders(const Sizes& shape) {
  std::set<std::int64_t> borders;
  std::int64_t elements = 1;
  for (auto size = shape.rbegin(); size != shape.rend(); ++size) borders.insert(elements *= *size);
  return borders;
}

bool AreCutFromEachOther(const Sizes& a, const Sizes& b) {
  const std::set<std::int64_t> x = Borders(a), y = Borders(b);
  return std::includes(x.begin(), x.end(), y.begin(), y.end()) || std::includes(y.begin(), y.end(), x.begin(), x.end());
}

// Axis `axis` of the parts one after the other. Of parts of one axis the order is the axis.
std::uint64_t AlongOf(absl::Span<const PlacedValues> parts, const std::vector<std::size_t>& sequence,
                      std::size_t axis) {
  std::uint64_t sum = 0, begin = 0;
  for (const std::size_t i : sequence) {
    const PlacedValues& part = parts[i];
    sum += PlaceWeight(begin) * (part.axes.empty() ? part.order : part.axes[axis]);
    begin += static_cast<std::uint64_t>(part.shape[axis]);
  }
  return sum;
}

std::uint64_t HashOfAxis(const PlacedValues& values, std::size_t axis) {
  return values.axes.empty() ? values.order : values.axes[axis];
}

bool CanBeParts(const PlacedValues& whole, absl::Span<const PlacedValues> parts, std::size_t axis) {
  std::int64_t size = 0;
  for (const PlacedValues& part : parts) {
    if (part.shape.size() != whole.shape.size() || part.axes.size() != whole.axes.size()) return false;
    for (std::size_t i = 0; i < part.shape.size(); ++i) {
      if (i != axis && part.shape[i] != whole.shape[i]) return false;
    }
    size += part.shape[axis];
  }
  return size == whole.shape[axis];
}

// Whether the axes beside `axis` hold the sums of the parts'.
bool OthersFit(const PlacedValues& whole, absl::Span<const PlacedValues> parts, std::size_t axis) {
  for (std::size_t i = 0; i < whole.axes.size(); ++i) {
    if (i == axis) continue;
    std::uint64_t sum = 0;
    for (const PlacedValues& part : parts) sum += part.axes[i];
    if (sum != whole.axes[i]) return false;
  }
  return true;
}

// Cut along `axis`.
Joint JointAlong(const PlacedValues& whole, absl::Span<const PlacedValues> parts, std::size_t axis) {
  constexpr std::size_t kSequencesOf = 4;  // parts: 24 sequences to try
  if (!OthersFit(whole, parts, axis)) return Joint::kOther;
  std::vector<std::size_t> sequence(parts.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  const std::uint64_t wanted = HashOfAxis(whole, axis);
  if (AlongOf(parts, sequence, axis) == wanted) return Joint::kInOrder;
  while (parts.size() <= kSequencesOf && std::next_permutation(sequence.begin(), sequence.end())) {
    if (AlongOf(parts, sequence, axis) == wanted) return Joint::kExchanged;
  }
  return Joint::kInterleaved;
}

int RankOf(Joint joint) {
  switch (joint) {
    case Joint::kInOrder: return 4;
    case Joint::kExchanged: return 3;
    case Joint::kInterleaved: return 2;
    case Joint::kOther: return 1;
    case Joint::kUnknown: break;
  }
  return 0;
}

Joint Better(Joint x, Joint y) {
  return RankOf(x) >= RankOf(y) ? x : y;
}

}  // namespace

std::vector<Axis> PlacedValues::LongAxes() const {
  std::vector<Axis> found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (shape[i] != 1) found.emplace_back(shape[i], axes[i]);
  }
  if (axes.empty() && shape.size() == 1 && shape[0] != 1) found.emplace_back(shape[0], order);
  return found;
}

std::optional<PlacedValues> PlacedOf(const v1::TensorFingerprint& tensor, const std::string& dtype) {
  const bool recorded = dtype == "BF16"  ? tensor.has_layout_as_bf16()
                        : dtype == "F16" ? tensor.has_layout_as_fp16()
                                         : tensor.has_layout();
  if (!recorded) return std::nullopt;
  const v1::LayoutHash& hash = dtype == "BF16"  ? tensor.layout_as_bf16()
                               : dtype == "F16" ? tensor.layout_as_fp16()
                                                : tensor.layout();
  const bool has_axes = tensor.shape_size() >= 2;
  if (has_axes && hash.axes_size() != tensor.shape_size()) return std::nullopt;
  PlacedValues placed = {{tensor.shape().begin(), tensor.shape().end()}, hash.order(), {}};
  if (has_axes) placed.axes.assign(hash.axes().begin(), hash.axes().end());
  const v1::ValueHash& values = dtype == "BF16"  ? tensor.values_as_bf16()
                                : dtype == "F16" ? tensor.values_as_fp16()
                                                 : tensor.values();
  placed.plain = values.low() - tensor.statistics().negative_zero() * kNegativeZeroLow;  // hashes of places have none
  return placed;
}

Layout LayoutOf(const PlacedValues& a, const PlacedValues& b) {
  const Sizes x = LongSizes(a.shape), y = LongSizes(b.shape);
  const bool same_sizes = x == y;
  if (a.order == b.order && same_sizes) return Layout::kSameOrder;
  if (Sorted(a.LongAxes()) == Sorted(b.LongAxes())) return Layout::kTransposed;
  if (a.order == b.order) return LayoutOfShapes(a.shape, b.shape, false);
  return Sorted(x) == Sorted(y) ? Layout::kOther : Layout::kUnknown;
}

Layout LayoutOfShapes(const Sizes& a, const Sizes& b, bool constant) {
  const Sizes x = LongSizes(a), y = LongSizes(b);
  if (constant || x == y) return Layout::kSameOrder;
  if (Sorted(x) == Sorted(y)) return Layout::kMisread;
  return AreCutFromEachOther(x, y) ? Layout::kSameOrder : Layout::kUnknown;
}

Joint JointOf(const PlacedValues& whole, absl::Span<const PlacedValues> parts) {
  Joint best = Joint::kUnknown;
  const auto look = [&](const PlacedValues& one) {
    for (std::size_t axis = 0; axis < one.shape.size(); ++axis) {
      if (CanBeParts(one, parts, axis)) best = Better(best, JointAlong(one, parts, axis));
    }
  };
  look(whole);
  if (best == Joint::kInOrder || whole.shape.size() != 2) return best;
  PlacedValues turned = whole;
  std::reverse(turned.shape.begin(), turned.shape.end());
  std::reverse(turned.axes.begin(), turned.axes.end());
  look(turned);
  return best;
}

namespace {

// One below the other. Of vectors the order is their only axis.
std::optional<PlacedValues> Below(absl::Span<const PlacedValues> parts) {
  PlacedValues whole = parts.front();
  for (const PlacedValues& part : parts.subspan(1)) {
    const bool fits = part.shape.size() == whole.shape.size() && part.axes.size() == whole.axes.size() &&
                      std::equal(part.shape.begin() + 1, part.shape.end(), whole.shape.begin() + 1);
    if (!fits) return std::nullopt;
    const std::uint64_t rows = PlaceWeight(static_cast<std::uint64_t>(whole.shape[0]));
    whole.order += PlaceWeight(ElementsOf(whole.shape)) * part.order;
    for (std::size_t i = 0; i < whole.axes.size(); ++i) whole.axes[i] += i == 0 ? rows * part.axes[i] : part.axes[i];
    whole.plain += part.plain;
    whole.shape[0] += part.shape[0];
  }
  return whole;
}

}  // namespace

std::optional<PlacedValues> StackOf(absl::Span<const PlacedValues> parts, std::size_t rows) {
  if (parts.empty() || parts.front().shape.empty() || rows == 0 || parts.size() % rows != 0) return std::nullopt;
  PlacedValues whole;
  for (std::size_t i = 0; i < parts.size(); i += rows) {
    const std::optional<PlacedValues> one = Below(parts.subspan(i, rows));
    if (!one.has_value()) return std::nullopt;
    const std::vector<std::uint64_t> inner = one->axes.empty() ? std::vector<std::uint64_t>{one->order} : one->axes;
    if (i == 0) {
      whole.shape = one->shape;
      whole.axes.assign(inner.size() + 1, 0);
    }
    if (one->shape != whole.shape || inner.size() + 1 != whole.axes.size()) return std::nullopt;
    const std::uint64_t place = i / rows;
    whole.order += PlaceWeight(place * ElementsOf(one->shape)) * one->order;
    whole.axes[0] += PlaceWeight(place) * one->plain;
    for (std::size_t axis = 0; axis < inner.size(); ++axis) whole.axes[axis + 1] += inner[axis];
    whole.plain += one->plain;
  }
  whole.shape.insert(whole.shape.begin(), static_cast<std::int64_t>(parts.size() / rows));
  return whole;
}

}  // namespace paritect
