// The header of a .npy file. Source: numpy, lib/format.py.
#ifndef PARITECT_FORMATS_WEIGHTS_NPY_H_
#define PARITECT_FORMATS_WEIGHTS_NPY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

struct NpyHeader {
  TensorInfo info;  // without a name
  bool fortran_order = false;
  bool swap = false;  // big-endian
  std::uint64_t data_at = 0;
};

inline constexpr std::size_t kNpyHeadBytesMax = 12 + 10'000;  // magic, version, length, and what numpy accepts at most

bool LooksLikeNpy(absl::string_view head);

// `head`: the file's first kNpyHeadBytesMax bytes, or all of it. DataLoss: damaged; Unimplemented: elements that are
// no plain numbers (objects, which are pickles; records; texts).
absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view head);

// A type of numpy's array interface ("<f4", "|b1"); whether it is big-endian goes to `swap`. Unimplemented as above.
absl::StatusOr<DType> DTypeOfNumpy(absl::string_view descr, bool& swap);

// Adds the array that begins with `bytes`.
absl::Status AddNpy(const SharedBytes& bytes, absl::string_view name, StoredTensors& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_NPY_H_
