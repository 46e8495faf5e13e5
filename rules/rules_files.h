// The files that hold the rules: embedded at build, and those of a person's folder that stand on top of them.
#ifndef PARITECT_RULES_RULES_FILES_H_
#define PARITECT_RULES_RULES_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// One data file: its path below rules/data ("messages/report.yaml") and its bytes (rules/prepared_document.h).
struct RulesFile {
  std::string name;
  std::string bytes;
};

// The files compiled into this program, in prepared form.
std::vector<RulesFile> EmbeddedRules();

// The overrides of this process: set once, by `main`, before anything else of rules/ is called; never after that. They
// must have passed CheckOverrides (rules/rules.h).
void SetRulesOverrides(std::vector<RulesFile> files);
absl::Span<const RulesFile> RulesOverrides();

// The bytes of a file whose override replaces it whole (a list of words, a walk).
std::string BytesOfRules(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_RULES_RULES_FILES_H_
