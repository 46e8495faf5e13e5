// Skipped steps of a run, counted once each, engine by engine.
//
// Counters of the run beat counted lines; of ranks (and logs) that print the same overflow the largest
// count stands; a run without any report of overflows is told from one without overflows.
#ifndef PARITECT_CHECKS_SERIES_OVERFLOW_H_
#define PARITECT_CHECKS_SERIES_OVERFLOW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

// The scale that a log prints, of steps that never go back: what a bound on skipped steps is reckoned from.
struct ScaleTrail {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t widest_gap = 0;    // between two printed scales
  std::int64_t steps_before = 0;  // that the log covers, up to the first printed scale
  std::int64_t steps_after = 0;   // the last one
  double first = 0;
  double last = 0;
  double lowest = 0;
};

struct OverflowCount {
  std::string engine;
  std::int64_t skipped = 0;
  std::int64_t steps = 0;    // 0: the log prints no steps
  std::int64_t applied = 0;  // overflows whose update was made all the same
  bool reported = false;     // the log would tell of an overflow
  // Only the printed steps, `told_steps` of them, say whether they overflowed; nothing counts those between.
  bool sampled = false;
  std::int64_t told_steps = 0;
  // The search for a first scale that fits: skipped steps before it is raised for the first time, or stands for 20
  // steps.
  std::int64_t skipped_at_start = 0;
  std::int64_t steps_at_start = 0;
  bool counted = false;  // a counter, or a line for every overflow, tells of them: not flags of printed steps alone
  // A counter that stands at 0 while so many lines tell of skipped steps.
  std::int64_t lines_beside_counter = 0;
  // Skipped steps at which a schedule tied to updates stood still, and at which it went on.
  std::int64_t rate_held = 0;
  std::int64_t rate_moved = 0;
  // Overflows that the printed scale implies: it was reduced so many times. Only a dynamic scaler reduces it.
  std::int64_t reductions = 0;
  bool scale_at_every_step = false;  // no step between two printed scales: no reduction is hidden
  bool scale_moves_unseen = false;   // the scale is not printed throughout, or falls between printed steps
  std::optional<ScaleTrail> trail;   // of one log without a restart; of ranks that tell of the same steps the first's
  // Steps with an infinite gradient norm of which nothing says that they were skipped, and norms that stand
  // at the largest fp16 value, where a saturating device stops instead of overflowing.
  std::int64_t unreported = 0;
  std::int64_t saturated = 0;
  bool by_counter = false;            // the run's own counter tells `skipped`
  std::vector<std::string> evidence;  // the first places
  std::vector<std::string> unreported_evidence;
  std::vector<std::string> applied_evidence;

  double rate_after_start() const {
    const std::int64_t later = steps - steps_at_start;
    return later > 0 ? static_cast<double>(skipped - skipped_at_start) / static_cast<double>(later) : 0;
  }
  // No run skips more steps than it made: the counter goes on from before the log begins, or is damaged.
  bool contradicts_itself() const { return by_counter && steps > 0 && skipped > steps; }
  double rate() const { return steps > 0 ? static_cast<double>(skipped) / static_cast<double>(steps) : 0; }
};

// Made once an audit.
const std::vector<OverflowCount>& CountOverflows(const RunSeries& run);

// Every reduction of a dynamic scale is an overflow, whatever the run's own count says.
std::int64_t ImpliedByScale(const OverflowCount& count);

// Ranks whose gradients overflow where those of another rank of the run stay finite: the norms of
// data-parallel ranks are one number. nullopt: no such pair, or the logs do not tell.
struct RankDisagreement {
  std::string a;  // "rank 0 (npu0/train.log)"
  std::string b;
  std::int64_t count_a = 0;
  std::int64_t count_b = 0;
};
std::optional<RankDisagreement> FindRankDisagreement(const RunSeries& run);

// overflow-rate of one side (baseline.mixed-precision and migrated.loss-scale share it).
void EvaluateOverflowRate(const CheckContext& context, v1::CheckResult& result, Side side);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_OVERFLOW_H_
