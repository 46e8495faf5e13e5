// Faults that the code alone shows: each endangers precision whatever the other side does. One list for the checks, which
// take those of their own name, and for `paritect scan`.
#ifndef PARITECT_CHECKS_SCRIPTS_FAULTS_H_
#define PARITECT_CHECKS_SCRIPTS_FAULTS_H_

#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/scripts/flow.h"

namespace paritect {

struct ScriptFault {
  absl::string_view check;    // "data.sharding.order-hazard"
  absl::string_view message;  // id of the catalogue
  v1::Severity severity = v1::SEVERITY_ERROR;
  const v1::ScriptFact* fact = nullptr;  // where it stands
  MessageArgs args;
  std::vector<const v1::ScriptFact*> evidence;  // further places
};

std::vector<ScriptFault> FindScriptFaults(const ScriptFlow& flow);

// The faults of every run of a side that are the check's.
void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check, Side side);
// ... of one run.
void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check,
                     const ScriptFlow& flow);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_FAULTS_H_
