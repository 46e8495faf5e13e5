// What the user named as a side: a plan, a folder with plan.yaml, a bundle, or a folder (or file) without a plan, which
// is then read as it is. Found out before anything is collected, so that mistakes of both sides are told at once.
#ifndef PARITECT_CLIENT_PLAN_SIDE_INPUT_H_
#define PARITECT_CLIENT_PLAN_SIDE_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/drafting/draft.h"
#include "client/command.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

struct SideInput {
  std::string path;                 // as the user wrote it
  std::vector<v1::Plan> plans;      // to collect; drafted ones know it (PlanInfo.drafted)
  std::vector<v1::Bundle> bundles;  // evidence collected elsewhere
  std::optional<Draft> draft;       // of a folder that was read as it is; its plans stand above
};

// InvalidArgument or NotFound, in words with their place: the user's mistake. DataLoss: a damaged bundle.
absl::StatusOr<SideInput> ReadSideInput(CommandEnv& env, const std::string& path, const DraftOptions& options);

// What is drafted for the folder of one run without a plan; nullopt where it is none, or nothing of a run lies in it
// but data.
std::optional<v1::Plan> DraftOfRun(CommandEnv& env, const std::string& path);

// Data sets of drafted plans get the names under which the other side has them.
void PairSideInputs(CommandEnv& env, std::vector<SideInput>& baseline, std::vector<SideInput>& migrated);

}  // namespace paritect

#endif  // PARITECT_CLIENT_PLAN_SIDE_INPUT_H_
