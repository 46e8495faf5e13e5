// Lists the members of tar (plain or gzip) and ZIP archives (.npz among them) that are held in memory.
#ifndef PARITECT_FORMATS_DATASETS_ARCHIVE_MEMBERS_H_
#define PARITECT_FORMATS_DATASETS_ARCHIVE_MEMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// One member as a line of text that two archives share exactly when name, size and content are the same:
// tar: MD5 of the content; ZIP: size and CRC-32 of its central directory.
// InvalidArgument: not such an archive; DataLoss: cut or damaged; ResourceExhausted: too many members or
// more than `inflated_bytes_max` when decompressed.
absl::StatusOr<std::vector<std::string>> ListArchiveMembers(absl::string_view bytes,
                                                            std::uint64_t inflated_bytes_max = 512 << 20);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_ARCHIVE_MEMBERS_H_
