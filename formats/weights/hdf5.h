// HDF5 by its helper program, for the formats that hold one (formats/weights/keras_h5.cc).
#ifndef PARITECT_FORMATS_WEIGHTS_HDF5_H_
#define PARITECT_FORMATS_WEIGHTS_HDF5_H_

#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/random_bytes.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// Adds its datasets and texts to `out` and gives it back. Unimplemented: the helper is not installed; DataLoss: what
// the library refuses; ResourceExhausted: it unpacks to far more than it is, or stands in no file and is large.
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadHdf5(const SharedBytes& bytes, std::unique_ptr<StoredTensors> out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_HDF5_H_
