// One file of torch.save in its ZIP layout; the folder formats read many.
#ifndef PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_
#define PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/pickle_view.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// `look` (may be empty) sees the pickle, for what tensors and facts do not tell.
using LookAtPickle = std::function<absl::Status(const PickleView& view)>;
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTorchZip(const SharedBytes& bytes, const LookAtPickle& look = {});

// Whether the names of an archive are those of torch.save, by the head's local headers alone.
bool LooksLikeTorchZip(absl::string_view head);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_TORCH_ZIP_H_
