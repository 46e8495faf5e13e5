// What steps of an input pipeline mean whatever framework names them: Resize of torchvision and of MindSpore, a flip,
// the size of a shuffle buffer. Finds what differs for certain; that two frameworks' steps are the same is never said.
#ifndef PARITECT_CHECKS_SCRIPTS_PIPELINE_MEANINGS_H_
#define PARITECT_CHECKS_SCRIPTS_PIPELINE_MEANINGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/scripts/pipeline_item.h"

namespace paritect {

struct MeaningDifference {
  std::string what;      // "resize size", "shuffle"
  std::string baseline;  // "256"; "-": no such step
  std::string migrated;
  const v1::ScriptFact* place_baseline = nullptr;  // null: no such step
  const v1::ScriptFact* place_migrated = nullptr;
};

struct PipelineSide {
  std::vector<PipelineItem> items;
  bool own_data_set = false;  // the project's own code makes samples: what steps it takes is not all known
};

// Of one part of the pipeline ("shuffle", "padding", "transform").
std::vector<MeaningDifference> DifferencesOfMeaning(absl::string_view part, const PipelineSide& baseline,
                                                    const PipelineSide& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_PIPELINE_MEANINGS_H_
