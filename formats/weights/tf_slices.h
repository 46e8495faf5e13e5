// Keys of the slices of a partitioned variable in the index of a TensorFlow bundle: name and extents in an encoding
// whose bytes sort as the values do. Sources: tensorflow/core/util/saved_tensor_slice_util.cc (EncodeTensorNameSlice),
// tensorflow/core/lib/strings/ordered_code.cc.
#ifndef PARITECT_FORMATS_WEIGHTS_TF_SLICES_H_
#define PARITECT_FORMATS_WEIGHTS_TF_SLICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct TfSlice {
  std::string variable;
  std::vector<std::int64_t> starts;  // an axis that is not cut begins at 0
};

// Whether the key is a slice's: names of variables do not begin with NUL.
bool IsTfSliceKey(absl::string_view key);

// DataLoss: damaged.
absl::StatusOr<TfSlice> ReadTfSliceKey(absl::string_view key);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_TF_SLICES_H_
