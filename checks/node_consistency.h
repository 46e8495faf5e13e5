// Node against node within one side: what differs, and which nodes are the odd ones out.
#ifndef PARITECT_CHECKS_NODE_CONSISTENCY_H_
#define PARITECT_CHECKS_NODE_CONSISTENCY_H_

#include "checks/check.h"

namespace paritect {

// cluster.consistency.variables and .versions of one side; findings go to `result`. `with_missing`: also what is
// missing (not where another check repeats the errors).
void CompareVariables(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing);
void CompareNodeVersions(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing);

}  // namespace paritect

#endif  // PARITECT_CHECKS_NODE_CONSISTENCY_H_
