// One safetensors file; hf_index.cc and the folder formats put several together.
#ifndef PARITECT_FORMATS_WEIGHTS_SAFETENSORS_H_
#define PARITECT_FORMATS_WEIGHTS_SAFETENSORS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

bool LooksLikeSafetensors(absl::string_view head, std::uint64_t size_bytes);
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadSafetensors(const SharedBytes& bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_SAFETENSORS_H_
