#include "common/read_head.h"

#include <memory>

#include "absl/types/span.h"
#include "common/status_macros.h"

namespace paritect {

absl::StatusOr<std::string> ReadHead(FileSystem& fs, const std::string& path, std::size_t bytes_max) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  std::string head(bytes_max, '\0');
  std::size_t filled = 0;
  while (filled < head.size()) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file->Read(absl::MakeSpan(head.data() + filled, head.size() - filled)));
    if (n == 0) break;
    filled += n;
  }
  head.resize(filled);
  return head;
}

}  // namespace paritect
