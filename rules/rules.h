// Knowledge as data: what rules/data holds, typed. Embedded at build; files of the same relative name
// in an override folder replace or extend it at run time (docs/rules.md).
#ifndef PARITECT_RULES_RULES_H_
#define PARITECT_RULES_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rules/catalogue.h"
#include "rules/differences.h"
#include "rules/messages.h"
#include "rules/operators.h"
#include "rules/products.h"
#include "rules/profile.h"
#include "rules/rules_files.h"
#include "rules/script_rules.h"
#include "rules/settings_rules.h"
#include "rules/tensor_names.h"

namespace paritect {

// Immutable once loaded; may be shared between threads.
struct Rules {
  Catalogue catalogue;
  Messages messages;
  Profile profile;  // pre-tuning/1
  SettingsRules settings;
  Products products;
  Defaults defaults;
  Differences differences;
  TensorNames tensor_names;
  Operators operators;
  std::vector<std::string> overridden;  // names of the files that stand on top of the embedded ones
  ScriptRules scripts;
};

// Loads `files`, then `overrides` on top: an override file replaces single entries (messages, aliases,
// defaults, chips), never whole tables. InvalidArgument "NAME:LINE:COLUMN: ..." for a file that is
// not of its form.
absl::StatusOr<Rules> LoadRules(absl::Span<const RulesFile> files, absl::Span<const RulesFile> overrides = {});

// The embedded rules with the overrides of the process (rules/rules_files.h), loaded once. A test proves that those
// without overrides load; who overrides has proved it before (CheckOverrides).
const Rules& BuiltInRules();

// Whether the files are overrides that load on top of the embedded rules. InvalidArgument "NAME:LINE:COLUMN: ...".
absl::Status CheckOverrides(absl::Span<const RulesFile> overrides);

}  // namespace paritect

#endif  // PARITECT_RULES_RULES_H_
