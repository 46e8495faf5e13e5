// The tensors and values of a pickle as torch.save writes it: nested dictionaries, lists and objects, whose keys become
// names joined by '.', with tensors that are views of storages beside the pickle.
// Source: pytorch, torch/_utils.py (_rebuild_*), torch/serialization.py.
#ifndef PARITECT_FORMATS_WEIGHTS_PICKLED_TENSORS_H_
#define PARITECT_FORMATS_WEIGHTS_PICKLED_TENSORS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/weights/dtype.h"
#include "formats/weights/pickle_view.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// ('storage', type, key, location, elements, view): what stands for a storage in the pickle.
struct StorageId {
  std::string key;
  DType dtype = DType::kU8;
  bool typed = true;       // false: bytes, whatever the tensors make of them
  std::string unreadable;  // of a type that has no plain form
  bool sized = true;       // the elements' size is known, readable or not
  std::string location;    // "cpu", "npu:0"
  std::uint64_t elements = 0;
  std::uint64_t view_offset = 0;  // legacy: the storage is a part of another, from this element on
};
std::optional<StorageId> ReadStorageId(const PickleView& view, std::int32_t place);

// The bytes of a storage. NotFound: it is not there.
using FindStorage = std::function<absl::StatusOr<SharedBytes>(const StorageId& id)>;

struct PickledOptions {
  bool big_endian = false;
  std::uint64_t file_bytes = 0;  // bounds what views may claim to hold
};

// Fills `out`. DataLoss, ResourceExhausted: hostile or damaged.
absl::Status AddPickledTensors(const PickleView& view, const FindStorage& find, const PickledOptions& options,
                               StoredTensors& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_PICKLED_TENSORS_H_
