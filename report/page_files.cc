#include "report/page_files.h"

#include "absl/strings/match.h"

namespace paritect {

std::string PageFiles(absl::string_view ending) {
  std::string all;
  for (const PageFile& file : EmbeddedPageFiles()) {
    if (absl::EndsWith(file.name, ending)) absl::StrAppend(&all, file.text, "\n");
  }
  return all;
}

}  // namespace paritect
