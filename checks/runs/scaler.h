// The loss scaler of a run: whether one is needed (the type in which the run computes), whether it is on,
// dynamic or static, with which parameters. Read from settings and from what the log shows of the scale.
#ifndef PARITECT_CHECKS_RUNS_SCALER_H_
#define PARITECT_CHECKS_RUNS_SCALER_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/nonfinite.h"
#include "checks/series/run_series.h"

namespace paritect {

enum class ScalerKind { kUnknown, kOff, kStatic, kDynamic };

// "dynamic", "static", "off", "".
absl::string_view ScalerWord(ScalerKind kind);

struct Sourced {
  double value = 0;
  std::string origin;
};

struct ScalerFacts {
  std::string dtype;  // float16 | bfloat16 | float32; "" where not known
  std::string dtype_evidence;
  ScalerKind kind = ScalerKind::kUnknown;
  std::string evidence;
  std::optional<Sourced> static_scale;
  std::optional<Sourced> printed_scale;  // where the log prints one scale throughout
  std::optional<Sourced> state_scale;    // what a saved state of the scaler holds
  std::optional<Sourced> initial, window, hysteresis, growth, backoff, minimum;
  std::optional<Sourced> global_batch;
  bool made_new = false;  // the script makes one scaler and reads no file of state into anything
  // Skipped steps that probing makes by itself: hysteresis / window.
  std::optional<double> expected_rate() const;
  // Where a scale scales nothing any more: its stated minimum, at least 1.
  double floor() const { return minimum.has_value() && minimum->value > 1 ? minimum->value : 1; }
  // No scaler is needed: bf16 and fp32 have the range of fp32.
  bool not_needed() const { return dtype == "bfloat16" || dtype == "float32"; }
};

// Made once an audit.
const ScalerFacts& ScalerOf(const CheckContext& context, const RunSeries& run);

// What can leave out an update of the run.
UpdateGuard GuardOf(const CheckContext& context, const RunSeries& run);

// Values of the loss scale in file order, lines without a step included.
struct ScalePoint {
  double scale = 0;
  bool overflow = false;
  bool skipped = false;  // told by a scaler; a norm that is not finite is an overflow and no skip
  std::int64_t step = 0;
  PlaceInLog where;
};
std::vector<ScalePoint> ScalePoints(const RunSeries& run, absl::string_view engine);
// The same, one series for each rank and log that tells of the same steps: logs that go on where one ends are one.
std::vector<std::vector<ScalePoint>> ScaleSeries(const RunSeries& run, absl::string_view engine);
// Engines whose scale the logs show.
std::vector<std::string> ScaleEngines(const RunSeries& run);

// Adds the note `not_applicable` ("no scaler needed") when that is known of the run; true if so.
bool NoScalerNeeded(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                    const ScalerFacts& facts);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_SCALER_H_
