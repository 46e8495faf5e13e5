// Causes and consequences: which failed finding probably follows from which other one.
//
// Judging comes first and stays as it is: a consequence is still an error of its check. What is added is the fact
// `caused_by` ([{check, kind, subject}]: the findings at the root, the likeliest first), so that a reader can put
// causes first and every consumer of the JSON can do the same. The graph is data (rules/causes.h).
#ifndef PARITECT_CHECKS_EXPLAINING_CAUSES_H_
#define PARITECT_CHECKS_EXPLAINING_CAUSES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/report.pb.h"
#include "rules/causes.h"

namespace paritect {

inline constexpr absl::string_view kCausedByFact = "caused_by";

// Sets the fact on every error that no waiver takes away and that another such error explains. Explanations are
// followed to their root; findings that explain each other in a circle are no consequences.
void LinkConsequences(const CauseRules& rules, v1::Report& report);

// Findings of one check and kind that follow from a cause.
struct Consequence {
  const v1::CheckResult* check = nullptr;
  std::vector<const v1::Finding*> findings;
  v1::Text because;  // empty where the cause works through others
};

// Findings of one check and kind that follow from no other.
struct Cause {
  const v1::ItemResult* item = nullptr;
  const v1::CheckResult* check = nullptr;
  std::size_t stage = 0;  // in CauseRules::stages
  std::vector<const v1::Finding*> findings;
  std::vector<Consequence> consequences;
};

// The causes of a report in order of work, each with what follows from it. A finding with several causes stands under
// the likeliest. Reads the fact, so it works on a stored report too; borrows from both.
std::vector<Cause> CausesOf(const CauseRules& rules, const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_CHECKS_EXPLAINING_CAUSES_H_
