// Where a tensor's values stand, as sums that tell transposed, reshaped and shuffled tensors apart (LayoutHash).
#ifndef PARITECT_FORMATS_WEIGHTS_LAYOUT_HASH_H_
#define PARITECT_FORMATS_WEIGHTS_LAYOUT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paritect/v1/weights.pb.h"

namespace paritect {

// Takes the mixes of a tensor's elements in C order, that of -0 as 0; memory does not depend on the shape. `shape` has
// no size below 0.
class LayoutHasher {
 public:
  explicit LayoutHasher(const std::vector<std::int64_t>& shape);
  void Add(const std::uint64_t* mixes, std::size_t count);
  // Of what was added; without axes where that are not the elements of the shape.
  void Finish(v1::LayoutHash& result) const;

 private:
  struct Axis {
    std::uint64_t size = 1;
    std::uint64_t at = 0;
    std::uint64_t weight = 1;  // of `at`
    std::uint64_t sum = 0;
  };
  void EndRow();

  std::vector<Axis> axes_;  // outermost first; none below two
  std::uint64_t elements_ = 0;
  std::uint64_t weight_ = 1;  // of the next element
  std::uint64_t order_ = 0;
  std::uint64_t row_ = 0;  // of the mixes of the row so far, not weighted
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_LAYOUT_HASH_H_
