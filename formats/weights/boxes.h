// A tensor that is cut into boxes, each of which stands somewhere in C order of its own.
#ifndef PARITECT_FORMATS_WEIGHTS_BOXES_H_
#define PARITECT_FORMATS_WEIGHTS_BOXES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

struct Box {
  std::vector<std::int64_t> offsets;  // as many as dimensions, in elements
  std::vector<std::int64_t> sizes;
  BytePiece piece;
};

// Adds the tensor of these boxes. DataLoss: they do not tile its shape.
absl::Status AddBoxes(TensorInfo info, std::vector<Box> boxes, StoredTensors& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_BOXES_H_
