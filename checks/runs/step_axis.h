// One axis for two curves whose steps are not one amount of training: another global batch, micro-steps against
// optimizer steps, or steps counted from 0 against steps counted from 1.
#ifndef PARITECT_CHECKS_RUNS_STEP_AXIS_H_
#define PARITECT_CHECKS_RUNS_STEP_AXIS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

struct StepAxis {
  enum class Kind { kSteps, kSamples, kShifted };
  Kind kind = Kind::kSteps;
  // kSamples: how many samples a step consumes.
  double baseline_per_step = 1;
  double migrated_per_step = 1;
  std::int64_t shift = 0;  // kShifted: added to the migrated side's steps
};

// By the consumed samples that the logs print, else by the global batches of the settings, where these say that a step
// is not the same on both sides; else by where two logs of every step begin, if the losses follow each other only with
// that shift. Steps as they are where nothing says so.
StepAxis ChooseAxis(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated, const Curve& a,
                    const Curve& b);

// Moves both curves onto the axis. In samples a point stands at the samples consumed by then, and a value counts as the
// mean since the point before: so Align averages the finer curve over the coarser one's steps.
void MoveToAxis(const StepAxis& axis, Curve& a, Curve& b);

// The global batch that a log prints on every line (Megatron); nullopt: none, or one that changes.
std::optional<double> PrintedBatch(const RunSeries& run);

// The baseline's step at a position of the axis.
std::int64_t BaselineStep(const StepAxis& axis, std::int64_t position);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_STEP_AXIS_H_
