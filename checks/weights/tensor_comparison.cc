#include "checks/weights/tensor_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/weights/layout.h"
#include "common/tensor_hashes.h"

namespace paritect {
namespace {

std::vector<std::int64_t> ShapeOf(const v1::TensorFingerprint& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
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

std::optional<ValueHashes> SumOf(const std::vector<const ModelTensor*>& tensors, const std::string& dtype = "") {
  ValueHashes sum;
  for (const ModelTensor* one : tensors) {
    const std::optional<ValueHashes> values = dtype.empty() ? one->values() : one->values_as(dtype);
    if (!values.has_value()) return std::nullopt;
    sum.low += values->low;
    sum.high += values->high;
  }
  return sum;
}

std::uint64_t NegativeZerosOf(const std::vector<const ModelTensor*>& tensors) {
  std::uint64_t count = 0;
  for (const ModelTensor* one : tensors) {
    for (const v1::TensorFingerprint* part : one->parts) count += part->statistics().negative_zero();
  }
  return count;
}

ValueHashes Without(const ValueHashes& sum, std::uint64_t negative_zeros) {
  return {sum.low - negative_zeros * kNegativeZeroLow, sum.high - negative_zeros * kNegativeZeroHigh};
}

// -0 counts as 0: it is the same number, and conversions turn one into the other.
bool SameValues(const TensorPair& pair, const std::string& a_as = "", const std::string& b_as = "") {
  const std::optional<ValueHashes> a = SumOf(pair.a, a_as), b = SumOf(pair.b, b_as);
  if (!a.has_value() || !b.has_value()) return false;
  return a == b || Without(*a, NegativeZerosOf(pair.a)) == Without(*b, NegativeZerosOf(pair.b));
}

// How far b is from a by their sketches, of a's size; nullopt: no sketches, or nothing to measure by.
std::optional<double> Distance(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  const std::vector<double> x = SketchOf(a), y = SketchOf(b);
  if (x.empty() || x.size() != y.size()) return std::nullopt;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size += x[i] * x[i];
  }
  if (difference == 0) return 0;
  const double distance = std::sqrt(difference / size);
  return std::isfinite(distance) ? std::optional<double>(distance) : std::nullopt;
}

bool IsOneValue(const v1::TensorFingerprint& tensor) {
  const v1::TensorStatistics& all = tensor.statistics();
  return all.has_min() && all.min() == all.max() && all.finite() == ElementsOf(tensor);
}

// Fingerprints without hashes of places: sums over the same values in the same order are the same to the last bit.
Layout LayoutBySketch(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  if (a.sketch_size() == 0 || a.sketch_size() != b.sketch_size()) return Layout::kUnknown;
  if (SketchOf(a) == SketchOf(b)) return LayoutOfShapes(ShapeOf(a), ShapeOf(b), IsOneValue(a));
  return ShapeOf(a) == ShapeOf(b) ? Layout::kOther : Layout::kUnknown;
}

Sameness Placed(Layout layout, bool same_shape, Sameness straight) {
  switch (layout) {
    case Layout::kSameOrder: return same_shape || straight == Sameness::kRounded ? straight : Sameness::kReshaped;
    case Layout::kTransposed: return Sameness::kTransposed;
    case Layout::kMisread: return Sameness::kMisread;
    case Layout::kOther: return Sameness::kReordered;
    case Layout::kUnknown: break;
  }
  return Sameness::kUnplaced;
}

// Of two tensors whose values are the same, where each is seen as `a_as`, `b_as`.
Sameness PlacesOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b, Sameness straight,
                  const std::string& a_as = "", const std::string& b_as = "") {
  const bool same_shape = ShapeOf(a) == ShapeOf(b);
  const std::optional<PlacedValues> x = PlacedOf(a, a_as), y = PlacedOf(b, b_as);
  if (x.has_value() && y.has_value()) return Placed(LayoutOf(*x, *y), same_shape, straight);
  if (IsOneValue(a) && IsOneValue(b)) return Placed(Layout::kSameOrder, same_shape, straight);
  return Placed(LayoutBySketch(a, b), same_shape, straight);
}

// The greatest relative step between neighbours of the type.
double ResolutionOf(const std::string& dtype) {
  if (dtype == "BF16") return 0x1p-7;
  if (dtype == "F16") return 0x1p-10;
  return 0;
}

// A vocabulary may have rows of no word at its end.
bool MayHaveMoreRows(const TensorPair& pair) {
  return pair.one_to_one() && pair.a[0]->vocabulary && pair.b[0]->vocabulary &&
         pair.a[0]->elements() != pair.b[0]->elements();
}

// Each of several parts is nearly what the other side has in one: replicas that drift apart, and no parts. Independent
// values are further from it than its own size.
bool AreCopiesOfWhole(const TensorPair& pair) {
  const bool a_whole = pair.a[0]->whole();
  if (!pair.one_to_one() || a_whole == pair.b[0]->whole()) return false;
  const v1::TensorFingerprint& whole = (a_whole ? pair.a : pair.b)[0]->first();
  const auto& parts = (a_whole ? pair.b : pair.a)[0]->parts;
  return std::all_of(parts.begin(), parts.end(), [&](const v1::TensorFingerprint* part) {
    return ShapeOf(*part) == ShapeOf(whole) && 2 * Distance(whole, *part).value_or(1) < 1;
  });
}

// One that is padded with zeros keeps the order of what stands before, and holds more rows.
Sameness PaddedOf(const TensorPair& pair) {
  if (!MayHaveMoreRows(pair)) return Sameness::kReordered;
  const std::optional<PlacedValues> x = PlacedOf(pair.a[0]->first()), y = PlacedOf(pair.b[0]->first());
  if (!x.has_value() || !y.has_value()) return Sameness::kUnplaced;
  const bool more_rows = !x->shape.empty() && x->shape.size() == y->shape.size() &&
                         std::equal(x->shape.begin() + 1, x->shape.end(), y->shape.begin() + 1);
  if (!more_rows) return Sameness::kReordered;
  return x->order == y->order ? Sameness::kReshaped : Sameness::kUnplaced;
}

// Whether names leave the order of rows open: those of a head stand in halves or in pairs, as the code that turns them
// wants them; those of several matrices in turn, or one matrix after the other.
bool AreRowsOpen(const ModelTensor& a, const ModelTensor& b) {
  if (a.grouped != b.grouped || a.ranked != b.ranked) return true;
  return a.rotary && b.rotary && a.unwrapped != b.unwrapped;
}

// Rows in another order than the other side's, under names of which either may be right. The columns then hold what
// they held.
Sameness OfOpenRows(const TensorPair& pair, Sameness sameness, const std::string& a_as = "",
                    const std::string& b_as = "") {
  if (sameness != Sameness::kReordered || !AreRowsOpen(*pair.a[0], *pair.b[0])) return sameness;
  const std::optional<PlacedValues> x = PlacedOf(pair.a[0]->first(), a_as), y = PlacedOf(pair.b[0]->first(), b_as);
  const bool same_columns =
      x.has_value() && y.has_value() && x->shape == y->shape &&
      (x->axes.empty() || std::equal(x->axes.begin() + 1, x->axes.end(), y->axes.begin() + 1, y->axes.end()));
  return same_columns ? Sameness::kUnplaced : sameness;
}

constexpr const char* kNarrowTypes[] = {"BF16", "F16"};

Sameness CompareOne(const TensorPair& pair) {
  const v1::TensorFingerprint& a = pair.a[0]->first();
  const v1::TensorFingerprint& b = pair.b[0]->first();
  if (a.has_problem() || b.has_problem()) return Sameness::kUnknown;
  const bool same_type = a.dtype() == b.dtype();
  const bool same_shape = ShapeOf(a) == ShapeOf(b);
  const std::optional<bool> same_bytes = same_type ? SameBytes(a, b) : std::nullopt;
  if (same_bytes.value_or(false)) {
    if (same_shape) return Sameness::kSameBytes;
    return Placed(LayoutOfShapes(ShapeOf(a), ShapeOf(b), IsOneValue(a)), false, Sameness::kSameBytes);
  }
  if (!a.has_values() || !b.has_values()) return same_bytes.has_value() ? Sameness::kDiffers : Sameness::kUnknown;
  const auto placed = [&](Sameness straight, const std::string& a_as, const std::string& b_as) {
    return OfOpenRows(pair, PlacesOf(a, b, straight, a_as, b_as), a_as, b_as);
  };
  if (SameValues(pair)) return ElementsOf(a) != ElementsOf(b) ? PaddedOf(pair) : placed(Sameness::kSameValues, "", "");
  for (const std::string dtype : kNarrowTypes) {
    if (SameValues(pair, dtype, "")) return placed(Sameness::kRounded, dtype, "");
    if (SameValues(pair, "", dtype)) return placed(Sameness::kRounded, "", dtype);
  }
  if (MayHaveMoreRows(pair)) return Sameness::kMoreRows;
  const double step = std::max(ResolutionOf(a.dtype()), ResolutionOf(b.dtype()));
  const std::optional<double> distance = Distance(a, b);
  if (same_type || step == 0 || !distance.has_value() || *distance > step) return Sameness::kDiffers;
  return Placed(LayoutOfShapes(ShapeOf(a), ShapeOf(b), IsOneValue(a)), true, Sameness::kTruncated);
}

// The parts of a side, as seen in that type.
std::optional<std::vector<PlacedValues>> PiecesOf(const std::vector<const ModelTensor*>& tensors,
                                                  const std::string& dtype) {
  std::vector<PlacedValues> pieces;
  for (const ModelTensor* one : tensors) {
    for (const v1::TensorFingerprint* part : one->parts) {
      std::optional<PlacedValues> piece = PlacedOf(*part, dtype);
      if (!piece.has_value()) return std::nullopt;
      pieces.push_back(*std::move(piece));
    }
  }
  return pieces;
}

// The tensors of a side, each put together along its rows, are one after the other what the pieces of the other side's
// one tensor are, of which each holds a slice of each: [gate 0; up 0], [gate 1; up 1]. With slices of n rows both are
// the same sum, of w^(n (piece + tensor)) times the slice.
bool AreSlicesByRank(const std::vector<PlacedValues>& pieces, const std::vector<PlacedValues>& tensors) {
  const std::size_t axes = pieces[0].shape.size();
  const std::int64_t rows = pieces[0].shape[0];
  const auto slice = rows / static_cast<std::int64_t>(tensors.size());
  std::vector<std::uint64_t> left(axes, 0), right(axes, 0);
  for (const auto& [side, sums] : {std::pair(&pieces, &left), std::pair(&tensors, &right)}) {
    const auto others = static_cast<std::int64_t>((side == &pieces ? tensors : pieces).size());
    std::uint64_t at = 0;
    for (const PlacedValues& one : *side) {
      const bool fits = one.shape.size() == axes && one.shape[0] == slice * others &&
                        std::equal(one.shape.begin() + 1, one.shape.end(), pieces[0].shape.begin() + 1);
      if (!fits) return false;
      for (std::size_t i = 0; i < axes; ++i) {
        const std::uint64_t hash = one.axes.empty() ? one.order : one.axes[i];
        (*sums)[i] += i == 0 ? PlaceWeight(at) * hash : hash;
      }
      at += static_cast<std::uint64_t>(slice);
    }
  }
  return left == right;
}

// One tensor in pieces against several tensors, each in one piece; nullopt: another case.
std::optional<Sameness> SlicedOf(const TensorPair& pair, const std::vector<PlacedValues>& a,
                                 const std::vector<PlacedValues>& b, Sameness straight) {
  const bool a_in_pieces = pair.a.size() == 1 && a.size() > 1 && pair.b.size() == b.size();
  const bool b_in_pieces = pair.b.size() == 1 && b.size() > 1 && pair.a.size() == a.size();
  if (a_in_pieces == b_in_pieces) return std::nullopt;
  const std::vector<PlacedValues>& pieces = a_in_pieces ? a : b;
  std::vector<PlacedValues> tensors = a_in_pieces ? b : a;
  if (tensors.size() < 2 || !(a_in_pieces ? pair.a : pair.b)[0]->ranked) return std::nullopt;
  // A piece that is one of the tensors: they were cut one after the other. With as many ranks as tensors the sums are
  // the same then too.
  for (const PlacedValues& piece : pieces) {
    const auto is_piece = [&](const PlacedValues& one) { return one.shape == piece.shape && one.order == piece.order; };
    if (std::any_of(tensors.begin(), tensors.end(), is_piece)) return Sameness::kUnplaced;
  }
  if (AreSlicesByRank(pieces, tensors)) return straight;
  std::reverse(tensors.begin(), tensors.end());
  if (AreSlicesByRank(pieces, tensors)) return Sameness::kPartsExchanged;
  return Sameness::kUnplaced;
}

// Cut in the same way on both sides, or each piece of one side again into as many pieces of the other. Where ranks hold
// gates, a piece is not what follows one another.
bool AreCutAlike(const std::vector<PlacedValues>& a, const std::vector<PlacedValues>& b, bool gated) {
  if (a.size() > b.size()) return AreCutAlike(b, a, gated);
  if (b.size() % a.size() != 0 || (gated && a.size() != b.size())) return false;
  const std::size_t each = b.size() / a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const absl::Span<const PlacedValues> parts = absl::MakeConstSpan(b).subspan(i * each, each);
    const bool same =
        each == 1 ? LayoutOf(a[i], parts[0]) == Layout::kSameOrder : JointOf(a[i], parts) == Joint::kInOrder;
    if (!same) return false;
  }
  return true;
}

// One tensor against others that are stacked in it, each in one piece (experts); nullopt: another case.
std::optional<Sameness> StackedOf(const std::vector<PlacedValues>& a, const std::vector<PlacedValues>& b,
                                  Sameness straight) {
  if (a.size() != 1) return b.size() == 1 ? StackedOf(b, a, straight) : std::nullopt;
  const PlacedValues& whole = a.front();
  if (whole.shape.size() != b.front().shape.size() + 1 || whole.shape[0] < 1) return std::nullopt;
  const std::size_t rows = b.size() / static_cast<std::size_t>(whole.shape[0]);
  std::vector<PlacedValues> parts = b;
  const std::optional<PlacedValues> stack = StackOf(parts, rows);
  if (!stack.has_value()) return Sameness::kUnplaced;
  const auto same = [](Layout layout) { return layout == Layout::kSameOrder || layout == Layout::kTransposed; };
  if (same(LayoutOf(whole, *stack))) return straight;
  for (std::size_t i = 0; i < parts.size(); i += rows) {
    std::reverse(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.begin() + static_cast<std::ptrdiff_t>(i + rows));
  }
  if (rows > 1 && same(LayoutOf(whole, *StackOf(parts, rows)))) return Sameness::kPartsExchanged;
  // Each holds its own, in rows that may stand in turn. What rounding makes -0 is in the sums and not in the places.
  const bool own = whole.axes.size() == stack->axes.size() && whole.axes[0] == stack->axes[0];
  return own || straight == Sameness::kRounded ? Sameness::kUnplaced : Sameness::kReordered;
}

// Parts of one side against a whole or other parts of the other; the sums of all values are the same. Rows that stand
// in turn are in no hash of their own: whether they stand where they have to is not told.
Sameness JoinedOf(const TensorPair& pair, Sameness straight, const std::string& a_as = "",
                  const std::string& b_as = "") {
  const auto a = PiecesOf(pair.a, a_as), b = PiecesOf(pair.b, b_as);
  if (!a.has_value() || !b.has_value()) return Sameness::kUnplaced;
  if (const auto stacked = StackedOf(*a, *b, straight)) return *stacked;
  if (const auto sliced = SlicedOf(pair, *a, *b, straight)) return *sliced;
  if (a->size() > 1 && b->size() > 1) {
    const bool gated = pair.a[0]->ranked || pair.b[0]->ranked;
    return AreCutAlike(*a, *b, gated) ? straight : Sameness::kUnplaced;
  }
  // Groups of rows follow each other from rank to rank: of one layer on both sides no order is open.
  const bool one_layer = pair.one_to_one() && pair.a[0]->grouped && pair.a[0]->unwrapped == pair.b[0]->unwrapped;
  const auto in_turn = [&](const ModelTensor* one) {
    return (one->grouped && !one_layer) || (one->ranked && !one->whole());
  };
  const bool mixed =
      std::any_of(pair.a.begin(), pair.a.end(), in_turn) || std::any_of(pair.b.begin(), pair.b.end(), in_turn);
  switch (a->size() == 1 ? JointOf(a->front(), *b) : JointOf(b->front(), *a)) {
    case Joint::kInOrder: return mixed ? Sameness::kUnplaced : straight;
    case Joint::kExchanged: return mixed ? Sameness::kUnplaced : Sameness::kPartsExchanged;
    case Joint::kInterleaved: return Sameness::kUnplaced;
    case Joint::kOther: return Sameness::kReordered;
    case Joint::kUnknown: break;
  }
  return Sameness::kUnplaced;
}

std::int64_t AsSigned(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool IsSame(Sameness sameness) {
  switch (sameness) {
    case Sameness::kSameBytes:
    case Sameness::kSameValues:
    case Sameness::kTransposed:
    case Sameness::kReshaped:
    case Sameness::kParts:
    case Sameness::kRounded: return true;
    default: return false;
  }
}

bool IsMisplaced(Sameness sameness) {
  switch (sameness) {
    case Sameness::kReordered:
    case Sameness::kMisread:
    case Sameness::kTurned:
    case Sameness::kNotTurned:
    case Sameness::kPartsExchanged: return true;
    default: return false;
  }
}

bool HoldsSameValues(Sameness sameness) {
  return IsSame(sameness) || IsMisplaced(sameness) || sameness == Sameness::kUnplaced;
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
    case Sameness::kMisread: return "reshaped_for_transposed";
    case Sameness::kTurned: return "transposed_alone";
    case Sameness::kNotTurned: return "not_transposed";
    case Sameness::kPartsExchanged: return "parts_exchanged";
    case Sameness::kUnplaced: return "places_unknown";
    case Sameness::kMoreRows: return "more_rows";
    case Sameness::kDiffers: return "differs";
    case Sameness::kUnknown: break;
  }
  return "unknown";
}

Sameness Compare(const TensorPair& pair) {
  const auto twice = [](const ModelTensor* one) { return one->twice; };
  if (std::any_of(pair.a.begin(), pair.a.end(), twice) || std::any_of(pair.b.begin(), pair.b.end(), twice)) {
    return Sameness::kUnknown;
  }
  if (pair.one_to_one() && pair.a[0]->whole() && pair.b[0]->whole()) return CompareOne(pair);
  if (!SumOf(pair.a).has_value() || !SumOf(pair.b).has_value()) return Sameness::kUnknown;
  if (SameValues(pair)) return JoinedOf(pair, Sameness::kParts);
  for (const std::string dtype : kNarrowTypes) {
    if (SameValues(pair, dtype, "")) return JoinedOf(pair, Sameness::kRounded, dtype, "");
    if (SameValues(pair, "", dtype)) return JoinedOf(pair, Sameness::kRounded, "", dtype);
  }
  if (MayHaveMoreRows(pair) && !AreCopiesOfWhole(pair)) return Sameness::kMoreRows;
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
