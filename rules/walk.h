// The walk from a symptom to its cause, stage by stage. Data: rules/data/walk.yaml.
#ifndef PARITECT_RULES_WALK_H_
#define PARITECT_RULES_WALK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

struct WalkStep {
  std::string id;
  v1::Text title;
  std::vector<std::string> checks;  // ids of the catalogue; empty where `stage` answers
  std::string stage;                // id of another stage
  std::string after;                // id of a step of the same stage that must pass first; "" for none
  std::vector<v1::Text> next;       // what to do when it fails, in order
};

struct WalkStage {
  std::string id;
  v1::Text title;
  int scenario = 0;  // 0: of every training
  std::vector<WalkStep> steps;
};

using Walk = std::vector<WalkStage>;

// InvalidArgument "LINE:COLUMN: ..." for a stage or step without id, title or answer, one that stands twice, or an
// unknown field.
absl::StatusOr<Walk> ReadWalk(const DocumentNode& root);

// The embedded walk, read once. Apart from Rules: no check needs it.
const Walk& BuiltInWalk();

}  // namespace paritect

#endif  // PARITECT_RULES_WALK_H_
