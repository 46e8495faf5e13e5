// What a training script may use and still be known to be one process. Data, with the reason of each line:
// rules/data/one_process.yaml.
#ifndef PARITECT_RULES_ONE_PROCESS_H_
#define PARITECT_RULES_ONE_PROCESS_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

using NameSet = std::set<std::string, std::less<>>;

// A module of which it is known which of its names start, join or ask for other processes.
struct HarmlessModule {
  std::string name;
  bool any = false;  // all members but `but` and those that begin with '_'
  NameSet members, but;
  std::map<std::string, std::string, std::less<>> call_with, call_without;  // member -> argument
  NameSet written;  // members that are asked by a written key only
  std::string why;

  bool Permits(absl::string_view member) const;
};

struct OneProcessRules {
  std::map<std::string, HarmlessModule, std::less<>> modules;
  NameSet names;      // that may not stand behind a dot
  NameSet ranks;      // words of a script that knows of ranks
  NameSet builtins;   // functions that reach names by text
  NameSet dunders;    // that may be used
  NameSet variables;  // that change which code runs

  const HarmlessModule* Find(absl::string_view module) const;
};

// InvalidArgument "LINE:COLUMN: ...".
absl::StatusOr<OneProcessRules> ReadOneProcessRules(const DocumentNode& root);

// The embedded rules, loaded once.
const OneProcessRules& BuiltInOneProcessRules();

}  // namespace paritect

#endif  // PARITECT_RULES_ONE_PROCESS_H_
