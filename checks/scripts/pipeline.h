// The input pipeline of a training as its scripts build it, and what of it differs between two sides.
#ifndef PARITECT_CHECKS_SCRIPTS_PIPELINE_H_
#define PARITECT_CHECKS_SCRIPTS_PIPELINE_H_

#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/scripts/flow.h"
#include "checks/scripts/pipeline_item.h"

namespace paritect {

// The items that a part of data.preprocessing is about ("shuffle", "padding", "transform", "parallelism",
// "read-count"), in the order of the run; of what feeds the training alone.
std::vector<PipelineItem> PipelineItems(const ScriptFlow& flow, absl::string_view part, bool command_line_known);

// Whether the facts that feed the training are known.
bool HasPipeline(const ScriptFlow& flow);

enum class PipelineAnswer {
  kUnread,  // a side has no scripts, or they could not be read
  kOpen,    // something is not known, said under `missing`
  kEqual,
  kDiffers,  // an error was added
};

// Compares the part on two sides. `message` and `severity`: of a difference.
PipelineAnswer ComparePipelines(const CheckContext& context, v1::CheckResult& result, absl::string_view part,
                                absl::string_view message, v1::Severity severity, const RunView& baseline,
                                const RunView& migrated);

// An error for each step or argument that samples pass on their way into the evaluation on one side alone, or with
// another value. What is not known is not told: it is no part of the training.
void CompareEvaluationData(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_PIPELINE_H_
