// What tells one plan of a run and node from another: paritect.v1.PlanIdentity.
#ifndef PARITECT_FORMATS_PLAN_IDENTITY_H_
#define PARITECT_FORMATS_PLAN_IDENTITY_H_

#include <string>
#include <vector>

namespace paritect {

// The key of a plan, by a word for the kind of name and the name itself: {"file", absolute path}, {"audit"},
// {"command", folder, plan, words...}. Other parts give another key, however they are cut.
std::string PlanKey(const std::vector<std::string>& parts);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PLAN_IDENTITY_H_
