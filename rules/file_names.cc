#include "rules/file_names.h"

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

absl::StatusOr<FileNames> ReadEmbedded() {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ReadRulesDocument(BytesOfRules("file_names.yaml")));
  return ReadFileNames(root);
}

}  // namespace

absl::StatusOr<FileNames> ReadFileNames(const DocumentNode& root) {
  FileNames names;
  for (const auto& [key, value] : root.fields) {
    std::vector<std::string>* list = key.text == "junk_names"          ? &names.junk_names
                                     : key.text == "junk_folders"      ? &names.junk_folders
                                     : key.text == "transfer_endings"  ? &names.transfer_endings
                                     : key.text == "transfer_folders"  ? &names.transfer_folders
                                     : key.text == "packed_endings"    ? &names.packed_endings
                                     : key.text == "beside_endings"    ? &names.beside_endings
                                     : key.text == "container_endings" ? &names.container_endings
                                     : key.text == "helper_programs"   ? &names.helper_programs
                                     : key.text == "copy_programs"     ? &names.copy_programs
                                                                       : nullptr;
    if (list == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    if (!value.is_list()) return ErrorAt(value, "a list is needed");
    for (const DocumentNode& item : value.items) {
      if (!item.is_scalar() || item.text.empty() || item.text != absl::AsciiStrToLower(item.text)) {
        return ErrorAt(item, "a text in lower case is needed");
      }
      list->push_back(item.text);
    }
  }
  return names;
}

const FileNames& BuiltInFileNames() {
  static const FileNames* const names = [] {
    auto loaded = ReadEmbedded();
    if (!loaded.ok()) {
      ABSL_RAW_LOG(FATAL, "built-in rules do not load: %s", std::string(loaded.status().message()).c_str());
    }
    return new FileNames(*std::move(loaded));
  }();
  return *names;
}

}  // namespace paritect
