// Defaults that differ between frameworks, row by row. Data: rules/data/differences.yaml.
#ifndef PARITECT_RULES_DIFFERENCES_H_
#define PARITECT_RULES_DIFFERENCES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

struct FrameworkDifference {
  struct Default {
    std::string framework;
    std::string versions;  // ">=2.0", "" for all
    std::string value;
  };
  std::string id;
  std::string layer;                            // "batchnorm", "optimizer", ...; "" where no layer has it
  std::vector<std::string> classes;             // class names that have it, lower case; empty: every one
  std::vector<std::string> other;               // classes of the other side that it is held against; empty: `classes`
  std::map<std::string, std::string> argument;  // framework -> name of the argument
  std::vector<Default> by;
  std::map<std::string, std::string> class_values;  // value that the class alone decides
  std::map<std::string, std::string> words;         // spelling -> meaning
  std::string only_with;  // counts where an optimizer states this argument and it is not 0 (weight_decay)
  bool is_error = false;  // confirmed by documents
  std::string source;

  // Whether a printed model can show it.
  bool visible() const { return !argument.empty() || !class_values.empty(); }
  // Whether this row speaks of a class; empty lists hold every class.
  bool Has(absl::string_view class_name) const;
  bool IsCounterpart(absl::string_view class_name) const;
  // The default of a framework; nullopt where the table does not know it for that version.
  std::optional<std::string> DefaultOf(absl::string_view framework, absl::string_view version) const;
};

class Differences {
 public:
  // InvalidArgument "LINE:COLUMN: ..." for a row without id, severity or source, or with an unknown field. A row of an
  // override replaces the one of the same id.
  absl::Status Add(const DocumentNode& root, bool overriding);
  const std::vector<FrameworkDifference>& all() const { return rows_; }

 private:
  std::vector<FrameworkDifference> rows_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_DIFFERENCES_H_
