// The files of report/page/ and the chart library, as they were when the program was built.
#ifndef PARITECT_REPORT_PAGE_FILES_H_
#define PARITECT_REPORT_PAGE_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct PageFile {
  absl::string_view name;
  absl::string_view text;
};

std::vector<PageFile> EmbeddedPageFiles();

// The texts of those with this ending, one after another in the order of their names; the library first.
std::string PageFiles(absl::string_view ending);

}  // namespace paritect

#endif  // PARITECT_REPORT_PAGE_FILES_H_
