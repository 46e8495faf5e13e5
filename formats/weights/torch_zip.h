// One file of torch.save in its ZIP layout; the folder formats read many.
#ifndef PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_
#define PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTorchZip(const SharedBytes& bytes);

// Whether the names of an archive are those of torch.save, by the head's local headers alone.
bool LooksLikeTorchZip(absl::string_view head);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_
