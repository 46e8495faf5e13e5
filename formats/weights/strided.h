// Tensors that are views of a storage: read in C order, whatever their strides and byte order, so that what is hashed
// are the values and not how they lie in memory.
#ifndef PARITECT_FORMATS_WEIGHTS_STRIDED_H_
#define PARITECT_FORMATS_WEIGHTS_STRIDED_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

struct StridedView {
  SharedBytes bytes;
  std::uint64_t offset = 0;   // of the first element, in bytes
  DType dtype = DType::kF32;  // of whole bytes
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, none negative; as many as dimensions
  bool swap = false;                  // big-endian
};

// DataLoss: the view leaves its bytes. To be asked before ReadStrided.
absl::Status CheckView(const StridedView& view);
bool IsContiguous(const StridedView& view);
// Takes up to kGatherBytesMax of memory where the elements are not in order.
inline constexpr std::size_t kGatherBytesMax = 16 << 20;
absl::Status ReadStrided(const StridedView& view, BlockSink sink);

// C order of that shape.
std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& shape);

// Turns every element around in place.
void SwapElements(DType type, absl::Span<char> bytes);

// Adds the view as a tensor: as a piece where it is one.
absl::Status AddView(TensorInfo info, StridedView view, StoredTensors& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_STRIDED_H_
