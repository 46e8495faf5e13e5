// Shell scripts of frameworks that start the training that stands in one word of their command line. Data:
// rules/data/launch_scripts.yaml.
#ifndef PARITECT_RULES_LAUNCH_SCRIPTS_H_
#define PARITECT_RULES_LAUNCH_SCRIPTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// The options that so many words are: given ones in order, then (name, value or "$NAME") of those that the script adds.
struct LaunchForm {
  std::vector<std::string> given;
  std::vector<std::pair<std::string, std::string>> added;
};

struct LaunchScript {
  std::string name;
  std::string launcher;
  std::vector<LaunchForm> forms;  // no two of equally many given words
};

// InvalidArgument "LINE:COLUMN: ..." for an entry that is not of the form told in the file.
absl::StatusOr<std::vector<LaunchScript>> ReadLaunchScripts(const DocumentNode& root);

// Of the embedded ones; nullptr where the file name is none of theirs.
const LaunchScript* FindLaunchScript(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_RULES_LAUNCH_SCRIPTS_H_
