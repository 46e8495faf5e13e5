// The first step of both sides: losses and global gradient norms, and whether a difference may count.
#ifndef PARITECT_CHECKS_RUNS_FIRST_STEP_H_
#define PARITECT_CHECKS_RUNS_FIRST_STEP_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/runs/run_pairs.h"

namespace paritect {

// One value of the first step on both sides.
struct FirstValues {
  const RunSeries* baseline = nullptr;
  const RunSeries* migrated = nullptr;
  std::string subject;
  std::int64_t step = 0;  // as the baseline counts; the migrated side may count it from 1 where that counts from 0
  CurvePoint a;
  CurvePoint b;
  // Both are values of the run's first optimizer step. A log that prints every tenth step does not show it: what it
  // shows is told and proves nothing.
  bool of_first_step = true;
  double absolute() const;
  double relative() const;  // of a
};

// The first optimizer step (printed as 0 or 1) where both sides print it; else the reason under `missing`, with the
// first printed step where both print the same one.
std::vector<FirstValues> FirstStepOf(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs,
                                     Metric metric);

// Within the profile's limits for the first loss.
bool FirstLossAgrees(const Profile& profile, const FirstValues& values);

// The seed that both sides state ("seed 1234 (...; ...)"); "" where they do not. It is a ground to call a difference a
// fault (checklist, first step), and none to call the weights equal: one seed gives other random numbers on another
// device or framework.
std::string SameSeed(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated);

// False where baseline runs of the reference's seed start with another loss: the seed then fixes neither weights nor
// samples, and says nothing of the migrated run's start.
bool RepeatsStartAlike(const CheckContext& context, const RunPairs& pairs);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_FIRST_STEP_H_
