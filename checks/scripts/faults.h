// Faults that the code alone shows: each endangers precision whatever the other side does. One list for the checks,
// which take those of their own name, and for `paritect scan`.
#ifndef PARITECT_CHECKS_SCRIPTS_FAULTS_H_
#define PARITECT_CHECKS_SCRIPTS_FAULTS_H_

#include <vector>

#include "checks/check.h"
#include "checks/scripts/fault_list.h"

namespace paritect {

std::vector<ScriptFault> FindScriptFaults(const ScriptFlow& flow);

// The faults of every run of a side that are the check's.
void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check, Side side);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_FAULTS_H_
