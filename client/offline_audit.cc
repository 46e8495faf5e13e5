#include "client/offline_audit.h"

#include "agent/collect.h"
#include "common/status_macros.h"

namespace paritect {

absl::StatusOr<v1::Bundle> LoadSidePlan(CommandEnv& env, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(v1::Plan plan, LoadPlan(env.fs, path, env.host_name));
  PARITECT_RETURN_IF_ERROR(CheckPlanPaths(env.fs, plan));
  const CollectorEnv collector_env = {env.fs, env.rules};
  return CollectPlan(collector_env, plan);
}

absl::StatusOr<std::unique_ptr<EvidenceSet>> LoadEvidence(CommandEnv& env, const std::vector<std::string>& baseline,
                                                          const std::vector<std::string>& migrated) {
  std::vector<v1::Bundle> sides[2];
  for (int side = 0; side < 2; ++side) {
    for (const std::string& path : side == 0 ? baseline : migrated) {
      PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadSidePlan(env, path));
      sides[side].push_back(std::move(bundle));
    }
  }
  return std::make_unique<EvidenceSet>(std::move(sides[0]), std::move(sides[1]));
}

}  // namespace paritect
