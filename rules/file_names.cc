#include "rules/file_names.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/built_in.h"
#include "rules/read_text.h"

namespace paritect {

absl::StatusOr<FileNames> ReadFileNames(const DocumentNode& root) {
  FileNames names;
  for (const auto& [key, value] : root.fields) {
    std::vector<std::string>* list = key.text == "junk_names"          ? &names.junk_names
                                     : key.text == "junk_folders"      ? &names.junk_folders
                                     : key.text == "transfer_endings"  ? &names.transfer_endings
                                     : key.text == "transfer_folders"  ? &names.transfer_folders
                                     : key.text == "aside_words"       ? &names.aside_words
                                     : key.text == "packed_endings"    ? &names.packed_endings
                                     : key.text == "beside_endings"    ? &names.beside_endings
                                     : key.text == "container_endings" ? &names.container_endings
                                     : key.text == "helper_programs"   ? &names.helper_programs
                                     : key.text == "copy_programs"     ? &names.copy_programs
                                                                       : nullptr;
    if (list == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    PARITECT_ASSIGN_OR_RETURN(*list, ReadLowerTexts(value));
  }
  return names;
}

const FileNames& BuiltInFileNames() {
  return BuiltInTable<&ReadFileNames>("file_names.yaml");
}

}  // namespace paritect
