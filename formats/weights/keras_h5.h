// HDF5 by the helper program, for the formats that hold such a file.
#ifndef PARITECT_FORMATS_WEIGHTS_KERAS_H5_H_
#define PARITECT_FORMATS_WEIGHTS_KERAS_H5_H_

#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// Unimplemented: the bytes have no descriptor, or the helper is not installed; DataLoss: the library refuses them.
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadKerasH5(const SharedBytes& bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_KERAS_H5_H_
