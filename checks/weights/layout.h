// How the places of the same values relate on two sides: from hashes of places (LayoutHash), which value hashes lack.
#ifndef PARITECT_CHECKS_WEIGHTS_LAYOUT_H_
#define PARITECT_CHECKS_WEIGHTS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

enum class Layout {
  kUnknown,     // the hashes do not tell
  kSameOrder,   // in C order, in one shape or in two that are cut from each other
  kTransposed,  // axes changed places
  kMisread,     // C order kept though the sizes changed places: reshaped where it had to be transposed
  kOther,       // neither: shuffled
};

// Values in a shape, or in a part of one.
struct PlacedValues {
  std::vector<std::int64_t> shape;
  std::uint64_t order = 0;
  std::vector<std::uint64_t> axes;  // as LayoutHash.axes
  std::uint64_t plain = 0;          // all values, wherever they stand

  // Of each axis that is longer than 1, (size, hash).
  std::vector<std::pair<std::int64_t, std::uint64_t>> LongAxes() const;
};

// As they are (`dtype` empty), or rounded to "BF16" or "F16". nullopt: not recorded.
std::optional<PlacedValues> PlacedOf(const v1::TensorFingerprint& tensor, const std::string& dtype = "");

Layout LayoutOf(const PlacedValues& a, const PlacedValues& b);
// The same of values that are known to stand in one C order. `constant`: all are one value, which any order holds.
Layout LayoutOfShapes(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, bool constant);

// How a whole is made of parts.
enum class Joint {
  kUnknown,
  kInOrder,      // one after the other, along one axis
  kExchanged,    // ... in another order than given
  kInterleaved,  // every other axis is right, the one that is cut holds them mixed
  kOther,        // the parts do not fit in any other axis either
};
// Parts as they are named, of one rank of tensors. Where the whole is transposed against them, too.
Joint JointOf(const PlacedValues& whole, absl::Span<const PlacedValues> parts);

// `parts` as one: groups of `rows` of them one below the other, these stacked along a new first axis. nullopt: their
// shapes do not fit.
std::optional<PlacedValues> StackOf(absl::Span<const PlacedValues> parts, std::size_t rows);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_LAYOUT_H_
