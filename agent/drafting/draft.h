// A plan for a folder that has none: what lies in it, recognised by content, each file under the key of the plan that
// it is evidence for. Nothing is guessed: what could be two things, or tells nothing, is named with the reason and left
// to a person. The same folder gives the same draft.
#ifndef PARITECT_AGENT_DRAFTING_DRAFT_H_
#define PARITECT_AGENT_DRAFTING_DRAFT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/drafting/taken.h"
#include "common/file_system.h"
#include "paritect/v1/plan.pb.h"
#include "rules/rules.h"

namespace paritect {

struct Draft {
  // Of one run: one plan a node. Paths are relative to the folder, which is `base`.
  std::vector<v1::Plan> plans;
  // Folders with a plan.yaml, plans of other names, and bundles, on disk: what a run recorded or a person wrote, in
  // place of a draft. Beside a single wrapped run `plans` holds what no run records of itself; it is of that run.
  std::vector<std::string> recorded;
  std::vector<std::string> bundles;
  std::vector<TakenSource> taken;
  std::vector<NotTaken> not_taken;
};

// Of a folder, or of one file that is no plan (then the draft names that file alone). InvalidArgument, in words:
// nothing in it is recognised; it holds several runs (with their names). Errors of reading the folder itself.
absl::StatusOr<Draft> DraftPlan(FileSystem& fs, const Rules& rules, const std::string& path,
                                const DraftOptions& options);

// Gives the data sets of two sides the same names where it is plain which belong together: one a side, or lists of one
// side that are named as the folders of the other side's one set. Checks pair data sets by name.
// Only plans that were drafted are changed.
void PairDataNames(FileSystem& fs, const std::vector<v1::Plan*>& baseline, const std::vector<v1::Plan*>& migrated);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_DRAFT_H_
