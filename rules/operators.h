// Operators across frameworks: which names are one operation, which draw or give no value, what may replace which. Data
// and its shape: rules/data/operators.yaml.
#ifndef PARITECT_RULES_OPERATORS_H_
#define PARITECT_RULES_OPERATORS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

class Operators {
 public:
  struct Replacement {
    std::string operator_;  // the common name
    std::string framework;  // "mindspore", "pytorch", "any"
    std::string instead;
    std::string source;
  };

  // InvalidArgument "LINE:COLUMN: ...". Entries of a later call (an override) stand before those of earlier ones.
  absl::Status Add(const DocumentNode& root);

  // The common name, in lower case; one that the table does not know is its own.
  std::string Common(absl::string_view name) const;
  bool IsSkipped(absl::string_view name) const { return skipped_.contains(Common(name)); }
  bool IsRandom(absl::string_view name) const { return random_.contains(Common(name)); }
  // nullptr: none is known.
  const Replacement* ReplacementOf(absl::string_view name, absl::string_view framework) const;

 private:
  absl::Status AddSame(const DocumentNode& list);
  absl::Status AddReplacements(const DocumentNode& list);

  std::map<std::string, std::string> common_;
  std::set<std::string> skipped_;
  std::set<std::string> random_;
  std::vector<Replacement> replacements_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_OPERATORS_H_
