// What of a record cannot be true at once, how grave that is, and which checks rest on the parts that it takes away.
// Data: rules/data/contradictions.yaml.
#ifndef PARITECT_RULES_CONTRADICTIONS_H_
#define PARITECT_RULES_CONTRADICTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

struct ContradictionRules {
  struct Kind {
    std::vector<std::string> parts;
    bool error = true;
  };
  std::map<std::string, Kind, std::less<>> kinds;
  std::map<std::string, std::vector<std::string>, std::less<>> checks;  // by part: "ITEM.NAME", "ITEM.*" or "*.NAME"

  // The parts that a kind takes away; none where the kind is not known.
  std::vector<std::string> PartsOf(absl::string_view kind) const;
  // Whether a check rests on one of the parts, told as evidence tells them: with commas between. Of a part that is not
  // known (a newer version's) all do.
  bool Rests(absl::string_view check, absl::string_view parts) const;
};

// InvalidArgument "LINE:COLUMN: ..." for an entry that is not of the form told in contradictions.yaml.
absl::StatusOr<ContradictionRules> ReadContradictions(const DocumentNode& root);

// The embedded ones, or those that override them, read once.
const ContradictionRules& BuiltInContradictions();

}  // namespace paritect

#endif  // PARITECT_RULES_CONTRADICTIONS_H_
