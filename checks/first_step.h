// The first step of both sides: losses and global gradient norms, and whether a difference may count.
#ifndef PARITECT_CHECKS_FIRST_STEP_H_
#define PARITECT_CHECKS_FIRST_STEP_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/run_pairs.h"

namespace paritect {

// One value of the first step on both sides.
struct FirstValues {
  const RunSeries* baseline = nullptr;
  const RunSeries* migrated = nullptr;
  std::string subject;
  std::int64_t step = 0;
  CurvePoint a;
  CurvePoint b;
  double absolute() const;
  double relative() const;  // of a
};

// The first printed step where both sides print the same one; else the reason under `missing`.
std::vector<FirstValues> FirstStepOf(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs,
                                     Metric metric);

// Within the profile's limits for the first loss.
bool FirstLossAgrees(const Profile& profile, const FirstValues& values);

// What says that both sides start from the same weights and batch, so that a difference is a fault:
// "seed 1234 on both sides", "same pretrained content: ..."; "" where nothing does.
std::string SameStartEvidence(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_FIRST_STEP_H_
