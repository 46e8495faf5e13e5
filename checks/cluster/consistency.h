// Node against node within one side: what differs, and which nodes are the odd ones out.
#ifndef PARITECT_CHECKS_CLUSTER_CONSISTENCY_H_
#define PARITECT_CHECKS_CLUSTER_CONSISTENCY_H_

#include "checks/check.h"

namespace paritect {

// cluster.consistency.variables and .versions of one side; findings go to `result`. `with_missing`: also what is
// missing (not where another check repeats the errors).
void CompareVariables(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing);
void CompareNodeVersions(const CheckContext& context, v1::CheckResult& result, Side side, bool with_missing);

// One node is no cluster: true where only one was given. The question does not arise where the node says so itself
// (note); else, `with_missing`, its peers are missing.
bool SingleNode(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run, bool with_missing);

}  // namespace paritect

#endif  // PARITECT_CHECKS_CLUSTER_CONSISTENCY_H_
