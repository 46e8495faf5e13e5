// A constant ratio between the two sides (losses, gradient norms) and what of their configuration it equals.
//
// A ratio alone names no cause: 1.05 may be anything. One that equals the accumulation steps, the world size or the
// quotient of the two sides' batches says where the average was taken another way.
#ifndef PARITECT_CHECKS_RUNS_RATIO_CAUSE_H_
#define PARITECT_CHECKS_RUNS_RATIO_CAUSE_H_

#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

struct RatioCause {
  std::string text;                   // "gradient_accumulation_steps 8 of npu-1"; several: joined by " or "
  std::vector<std::string> evidence;  // where these stand
  bool known() const { return !text.empty(); }
};

// `ratio`: migrated / baseline, above 0. What equals it or its reciprocal within 0.5 %; no text where nothing does.
RatioCause CauseOfRatio(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated,
                        double ratio);

// The same of learning rates: the rates that the two sides were set to come before everything else.
RatioCause CauseOfRateRatio(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated,
                            double ratio);

// Whether the ratio (or its reciprocal) is a whole number of 2 or more, as sums in place of means give.
bool IsWholeRatio(const Profile& profile, double ratio);

// `id`, `id/whole` or `id/unexplained`: how much may be said of the ratio.
std::string RatioMessage(const CheckContext& context, absl::string_view id, const RatioCause& cause, double ratio);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_RATIO_CAUSE_H_
