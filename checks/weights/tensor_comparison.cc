#include "checks/weights/tensor_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {
namespace {

std::vector<std::int64_t> ShapeOf(const v1::TensorFingerprint& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

std::vector<std::int64_t> SortedShapeOf(const v1::TensorFingerprint& tensor) {
  std::vector<std::int64_t> shape = ShapeOf(tensor);
  std::sort(shape.begin(), shape.end());
  return shape;
}

std::vector<double> SketchOf(const v1::TensorFingerprint& tensor) {
  return {tensor.sketch().begin(), tensor.sketch().end()};
}

// nullopt: no digest that both have.
std::optional<bool> SameBytes(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  if (!a.xxh3().empty() && !b.xxh3().empty()) return a.xxh3() == b.xxh3();
  if (!a.sha256().empty() && !b.sha256().empty()) return a.sha256() == b.sha256();
  if (!a.md5().empty() && !b.md5().empty()) return a.md5() == b.md5();
  return std::nullopt;
}

std::optional<ValueHashes> SumOf(const std::vector<const ModelTensor*>& tensors) {
  ValueHashes sum;
  for (const ModelTensor* one : tensors) {
    const std::optional<ValueHashes> values = one->values();
    if (!values.has_value()) return std::nullopt;
    sum.low += values->low;
    sum.high += values->high;
  }
  return sum;
}

std::optional<ValueHashes> SumAs(const std::vector<const ModelTensor*>& tensors, const std::string& dtype) {
  ValueHashes sum;
  for (const ModelTensor* one : tensors) {
    const std::optional<ValueHashes> values = one->values_as(dtype);
    if (!values.has_value()) return std::nullopt;
    sum.low += values->low;
    sum.high += values->high;
  }
  return sum;
}

// Sums of the same values in the same order are the same to the last bit; where there is no sketch the shape decides.
bool SameOrder(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  if (a.sketch_size() == 0 || a.sketch_size() != b.sketch_size()) return true;
  return std::equal(a.sketch().begin(), a.sketch().end(), b.sketch().begin());
}

// How far b is from a by their sketches, of a's size.
std::optional<double> Distance(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  const std::vector<double> x = SketchOf(a), y = SketchOf(b);
  if (x.empty() || x.size() != y.size()) return std::nullopt;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size += x[i] * x[i];
  }
  return size > 0 ? std::sqrt(difference / size) : 0;
}

Sameness LayoutOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b, const PlaneOfPairs& plane,
                  Sameness straight) {
  if (ShapeOf(a) != ShapeOf(b))
    return SortedShapeOf(a) == SortedShapeOf(b) ? Sameness::kTransposed : Sameness::kReshaped;
  const bool same_order = straight == Sameness::kRounded ? Distance(a, b).value_or(0) < 0.1 : SameOrder(a, b);
  if (same_order) return straight;
  const bool square = a.shape_size() == 2 && a.shape(0) == a.shape(1);
  return square && plane.transposes ? Sameness::kTransposed : Sameness::kReordered;
}

// The greatest relative step between neighbours of the type.
double ResolutionOf(const std::string& dtype) {
  if (dtype == "BF16") return 0x1p-7;
  if (dtype == "F16") return 0x1p-10;
  return 0;
}

Sameness CompareOne(const ModelTensor& x, const ModelTensor& y, const PlaneOfPairs& plane) {
  const v1::TensorFingerprint& a = x.first();
  const v1::TensorFingerprint& b = y.first();
  if (a.has_problem() || b.has_problem()) return Sameness::kUnknown;
  const bool same_type = a.dtype() == b.dtype();
  const std::optional<bool> same_bytes = same_type ? SameBytes(a, b) : std::nullopt;
  if (same_bytes.value_or(false)) return ShapeOf(a) == ShapeOf(b) ? Sameness::kSameBytes : Sameness::kReshaped;
  if (!a.has_values() || !b.has_values()) return same_bytes.has_value() ? Sameness::kDiffers : Sameness::kUnknown;
  if (x.values() == y.values()) {
    // Other bytes of one type in one order: NaNs that differ. Too small for a sketch, the order is what differs.
    return LayoutOf(a, b, plane, same_type && a.sketch_size() == 0 ? Sameness::kReordered : Sameness::kSameValues);
  }
  for (const std::string dtype : {"BF16", "F16"}) {
    if (x.values_as(dtype) == y.values() || y.values_as(dtype) == x.values()) {
      return LayoutOf(a, b, plane, Sameness::kRounded);
    }
  }
  const double step = std::max(ResolutionOf(a.dtype()), ResolutionOf(b.dtype()));
  const std::optional<double> distance = Distance(a, b);
  if (!same_type && step > 0 && distance.has_value() && *distance <= step) return Sameness::kTruncated;
  return Sameness::kDiffers;
}

std::int64_t AsSigned(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool IsSame(Sameness sameness) {
  return sameness == Sameness::kSameBytes || sameness == Sameness::kSameValues || sameness == Sameness::kTransposed ||
         sameness == Sameness::kReshaped || sameness == Sameness::kParts || sameness == Sameness::kRounded;
}

std::string SamenessWord(Sameness sameness) {
  switch (sameness) {
    case Sameness::kSameBytes: return "same_bytes";
    case Sameness::kSameValues: return "same_values";
    case Sameness::kTransposed: return "transposed";
    case Sameness::kReshaped: return "reshaped";
    case Sameness::kParts: return "parts";
    case Sameness::kRounded: return "rounded";
    case Sameness::kTruncated: return "truncated";
    case Sameness::kReordered: return "reordered";
    case Sameness::kDiffers: return "differs";
    case Sameness::kUnknown: break;
  }
  return "unknown";
}

Sameness Compare(const TensorPair& pair, const PlaneOfPairs& plane) {
  if (pair.one_to_one() && pair.a[0]->whole() && pair.b[0]->whole()) return CompareOne(*pair.a[0], *pair.b[0], plane);
  const std::optional<ValueHashes> a = SumOf(pair.a), b = SumOf(pair.b);
  if (!a.has_value() || !b.has_value()) return Sameness::kUnknown;
  if (a == b) return Sameness::kParts;
  for (const std::string dtype : {"BF16", "F16"}) {
    const std::optional<ValueHashes> a_rounded = SumAs(pair.a, dtype), b_rounded = SumAs(pair.b, dtype);
    if ((a_rounded.has_value() && a_rounded == b) || (b_rounded.has_value() && b_rounded == a)) {
      return Sameness::kRounded;
    }
  }
  return Sameness::kDiffers;
}

double L2Of(const v1::TensorFingerprint& tensor) {
  return std::sqrt(tensor.statistics().sum_of_squares());
}

double MeanOf(const v1::TensorFingerprint& tensor) {
  const auto finite = static_cast<double>(tensor.statistics().finite());
  return finite > 0 ? tensor.statistics().sum() / finite : 0;
}

double DeviationOf(const v1::TensorFingerprint& tensor) {
  const auto finite = static_cast<double>(tensor.statistics().finite());
  if (finite == 0) return 0;
  const double mean = MeanOf(tensor);
  return std::sqrt(std::max(0.0, tensor.statistics().sum_of_squares() / finite - mean * mean));
}

DifferenceFigures FiguresOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  DifferenceFigures figures;
  figures.a_l2 = L2Of(a);
  figures.b_l2 = L2Of(b);
  figures.a_mean = MeanOf(a);
  figures.b_mean = MeanOf(b);
  figures.a_deviation = DeviationOf(a);
  figures.b_deviation = DeviationOf(b);
  if (ShapeOf(a) != ShapeOf(b)) return figures;
  figures.relative_l2 = Distance(a, b);
  const std::optional<SketchProducts> products = ProductsOf(SketchOf(a), SketchOf(b));
  if (products.has_value() && products->aa > 0 && products->bb > 0) {
    figures.cosine = products->ab / std::sqrt(products->aa * products->bb);
  }
  return figures;
}

DifferencePlace PlaceOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  DifferencePlace place;
  for (int i = 0; i < std::min(a.chunk_xxh3_size(), b.chunk_xxh3_size()); ++i) {
    if (a.chunk_xxh3(i) != b.chunk_xxh3(i)) place.chunks.push_back(i);
  }
  if (!a.has_words() || !b.has_words() || a.words().word_bytes() != b.words().word_bytes()) return place;
  const std::uint64_t change = b.words().sum() - a.words().sum();
  const std::uint64_t weighted = b.words().weighted() - a.words().weighted();
  const std::uint64_t squared = b.words().weighted_squared() - a.words().weighted_squared();
  place.word_bytes = a.words().word_bytes();
  if (change == 0 || AsSigned(weighted) % AsSigned(change) != 0) return place;
  const std::int64_t word = AsSigned(weighted) / AsSigned(change);
  const std::uint64_t words = ElementsOf(a) * std::uint64_t{4};  // no element has more than four words
  if (word < 0 || static_cast<std::uint64_t>(word) >= words) return place;
  // The third sum tells whether the first two fitted by chance.
  const auto at = static_cast<std::uint64_t>(word);
  if (at * at * change != squared) return place;
  place.word = at;
  place.change = AsSigned(change);
  place.one_bit = std::has_single_bit(change) || std::has_single_bit(~change + 1);
  return place;
}

std::string ElementText(const v1::TensorFingerprint& tensor, std::uint64_t word, std::uint32_t word_bytes) {
  const bool wide =
      tensor.dtype() == "F64" || tensor.dtype() == "I64" || tensor.dtype() == "U64" || tensor.dtype() == "C64";
  std::uint64_t element = wide && word_bytes == 4 ? word / 2 : tensor.dtype() == "C128" ? word / 4 : word;
  std::vector<std::uint64_t> at(static_cast<std::size_t>(tensor.shape_size()));
  for (std::size_t i = at.size(); i-- > 0;) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(1, tensor.shape(static_cast<int>(i))));
    at[i] = element % size;
    element /= size;
  }
  return absl::StrCat("[", absl::StrJoin(at, ", "), "]");
}

std::optional<SketchProducts> ProductsOf(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  SketchProducts products;
  products.places = a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    products.aa += a[i] * a[i];
    products.ab += a[i] * b[i];
    products.bb += b[i] * b[i];
  }
  return products;
}

}  // namespace paritect
