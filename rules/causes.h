// What explains what: the order in which causes are worked off, and which failed finding follows from which other one.
// Data: rules/data/causes.yaml. Apart from Rules: no check needs it, only what comes after the judgement.
#ifndef PARITECT_RULES_CAUSES_H_
#define PARITECT_RULES_CAUSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// CHECK, ITEM.*, CHECK:KIND|KIND or CHECK:!KIND|KIND.
struct FindingPattern {
  std::string check;  // the id, or what it begins with
  bool prefix = false;
  std::vector<std::string> kinds;  // none: any
  bool not_kinds = false;

  bool MatchesCheck(absl::string_view id) const;
  bool Matches(absl::string_view id, absl::string_view finding_kind) const;
};

struct CauseStage {
  std::string id;
  v1::Text title;
  std::vector<FindingPattern> checks;
};

struct Explanation {
  enum class Same { kAnything, kSubject, kKind };
  enum class Since { kAnyStep, kNotLater, kEarlier };

  std::vector<FindingPattern> effects;
  std::vector<FindingPattern> causes;
  Same same = Same::kAnything;    // what both findings must have in common
  Since since = Since::kAnyStep;  // the cause's first step beside the effect's; where one has none, it explains nothing
  std::string subject_prefix;     // of the cause; "": any
  std::string effect_prefix;      // of the effect's subject; "": any
  v1::Text because;
};

struct CauseRules {
  std::vector<CauseStage> stages;         // in order of work
  std::vector<Explanation> explanations;  // of one effect, the likelier causes first

  // The place of a check's stage in `stages`; stages.size() where none holds it.
  std::size_t StageOf(absl::string_view check) const;
};

// InvalidArgument "LINE:COLUMN: ..." for an entry that is not of the form told in causes.yaml, an unknown stage.
absl::StatusOr<CauseRules> ReadCauses(const DocumentNode& root);

// The embedded rules, or those that override them, read once.
const CauseRules& BuiltInCauses();

}  // namespace paritect

#endif  // PARITECT_RULES_CAUSES_H_
