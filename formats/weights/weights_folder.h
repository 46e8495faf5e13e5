// What the formats of folders share: names in them, the files of ranks put together, facts that tell of the whole.
#ifndef PARITECT_FORMATS_WEIGHTS_WEIGHTS_FOLDER_H_
#define PARITECT_FORMATS_WEIGHTS_WEIGHTS_FOLDER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// The one line of a small text file ("latest"), without blanks. DataLoss: it names what is no plain name of a folder.
absl::StatusOr<std::string> ReadNameFile(FileSystem& fs, const std::string& path);

// Whether `name` (of an index) stays in its folder: no '/', '\\', "..", NUL.
bool StaysInFolder(absl::string_view name);

// A file of torch.save in either layout. Unimplemented: neither.
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTorchFile(FileSystem& fs, const std::string& path);

// The fact of that name, or nullptr.
const v1::Value* FindFact(const v1::Weights& about, absl::string_view name);
std::optional<std::int64_t> IntegerFact(const v1::Weights& about, absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WEIGHTS_FOLDER_H_
