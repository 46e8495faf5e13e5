// A curve: the values of one metric over the steps of one run, as its logs print them.
#ifndef PARITECT_CHECKS_SERIES_CURVE_H_
#define PARITECT_CHECKS_SERIES_CURVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {
namespace v1 {
class Evidence;
}  // namespace v1

enum class Metric { kLoss, kLearningRate, kGradNorm, kLossScale, kAccuracy, kEvalLoss, kSamples };

// "loss", "lr", ...: as in `paritect inspect`, for messages.
absl::string_view MetricName(Metric metric);

// Where a value stands. A curve has one a record, and a finding shows a few: the text is made where it is wanted.
struct PlaceInLog {
  const v1::Evidence* evidence = nullptr;  // of the audit; outlives what is derived from it
  std::int64_t line = 0;                   // 0: the file alone

  std::string Text() const;  // "logs/train.log:12"
  operator std::string() const { return Text(); }
};

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;       // may be NaN or infinite
  double resolution = 0;  // half a unit of the last printed digit; 0: not known
  PlaceInLog where;
  bool in_points = false;  // an accuracy that was printed with a per cent sign
};

struct RankPoints {
  std::int64_t rank = 0;
  std::vector<CurvePoint> points;  // rising step; may hold NaN
};

// How far another rank's mean lies from that of the curve's points over their common steps, where there are enough.
struct RankSpread {
  std::int64_t rank = 0;
  double relative = 0;
  double errors = 0;  // the same in standard errors of the step-by-step differences; infinite where they do not scatter
};

struct Curve {
  std::string engine;              // "" where the log names none
  std::vector<CurvePoint> points;  // rising step, one a step
  bool interval_means = false;     // a value is the mean of the steps since the one before
  std::vector<RankSpread> spreads;  // by rank, where ranks printed different values
  std::vector<RankPoints> ranks;  // by rank, where they print different values (checks/series/rank_merge.h)
  bool mean_of_ranks = false;     // `points` are their mean
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_CURVE_H_
