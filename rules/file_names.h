// Names that say what a file is: junk of operating systems, unfinished transfers. Data: rules/data/file_names.yaml.
#ifndef PARITECT_RULES_FILE_NAMES_H_
#define PARITECT_RULES_FILE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/document.h"

namespace paritect {

// All in lower case.
struct FileNames {
  std::vector<std::string> junk_names;        // whole last names
  std::vector<std::string> junk_folders;      // everything below them
  std::vector<std::string> transfer_endings;  // with their dot
  std::vector<std::string> transfer_folders;
  std::vector<std::string> aside_words;        // put behind a name when a copy is set aside
  std::vector<std::string> packed_endings;     // of compression: the ending before them tells the kind
  std::vector<std::string> beside_endings;     // what every process reads beside its share of the data
  std::vector<std::string> container_endings;  // any process reads any part of such a file
  std::vector<std::string> helper_programs;    // look at the machine or build code, and read no data
  std::vector<std::string> copy_programs;      // copy, pack or check files: what they open is not read for training
};

// InvalidArgument "LINE:COLUMN: ..." for an unknown key, or a value that is no list of lower-case texts.
absl::StatusOr<FileNames> ReadFileNames(const DocumentNode& root);

// The embedded ones, loaded once.
const FileNames& BuiltInFileNames();

}  // namespace paritect

#endif  // PARITECT_RULES_FILE_NAMES_H_
