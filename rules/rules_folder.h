// `--rules DIR`: a person's folder of rules files on top of the embedded ones (docs/rules.md).
#ifndef PARITECT_RULES_RULES_FOLDER_H_
#define PARITECT_RULES_RULES_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "rules/rules_files.h"

namespace paritect {

// For the help of the programs that take it.
inline constexpr absl::string_view kRulesOptionHelp =
    "`--rules DIR`, before or after the command, puts rules of your own on top of the built-in ones.";

// Every .yaml of the folder and of its folders, as rules/data names them ("settings.yaml", "messages/logs.yaml"),
// sorted by name. NotFound; InvalidArgument: no such file in it, or too much.
absl::StatusOr<std::vector<RulesFile>> ReadRulesFolder(FileSystem& fs, absl::string_view folder);

// Takes `--rules DIR` and `--rules=DIR` out of the arguments, wherever they stand before a `--`, and makes the folder's
// files the process's overrides. For `main`, before anything reads rules. OK where the option is not there;
// InvalidArgument says which file, line and column is wrong.
absl::Status TakeRulesOption(FileSystem& fs, std::vector<std::string>& arguments);

}  // namespace paritect

#endif  // PARITECT_RULES_RULES_FOLDER_H_
