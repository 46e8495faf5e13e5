// HDF5 by its helper program, for the formats that hold one (formats/weights/keras_h5.cc).
#ifndef PARITECT_FORMATS_WEIGHTS_HDF5_H_
#define PARITECT_FORMATS_WEIGHTS_HDF5_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/random_bytes.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// The HDF5 file, and where it stands: from `offset` on in the open file of `descriptor`; -1: in memory alone, from
// where it is copied.
struct Hdf5File {
  SharedBytes bytes;
  int descriptor = -1;
  std::uint64_t offset = 0;
};

// Adds its datasets and texts to `out` and gives it back. Unimplemented: the helper is not installed; DataLoss: what
// the library refuses; ResourceExhausted: it unpacks to far more than it is, or stands in memory and is large.
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadHdf5(Hdf5File file, std::unique_ptr<StoredTensors> out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_HDF5_H_
