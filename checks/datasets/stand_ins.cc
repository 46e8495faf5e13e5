#include "checks/datasets/stand_ins.h"

#include <algorithm>

#include "checks/datasets/difference.h"

namespace paritect {

bool IsSetOfPages(const DatasetView& view) {
  constexpr std::size_t kPagesMin = 10;
  const auto pages =
      static_cast<std::size_t>(std::count_if(view.files.begin(), view.files.end(), [](const NamedFile& file) {
        return HasFileHint(*file.entry, v1::FILE_HINT_HTML_PAGE);
      }));
  return pages >= kPagesMin && pages * 2 > view.files.size();
}

bool StandsForData(const v1::FileEntry& entry, bool pages_are_data) {
  return HasFileHint(entry, v1::FILE_HINT_LFS_POINTER) || HasFileHint(entry, v1::FILE_HINT_LFS_POINTER_DAMAGED) ||
         (!pages_are_data && HasFileHint(entry, v1::FILE_HINT_HTML_PAGE));
}

}  // namespace paritect
