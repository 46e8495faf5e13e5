// migrated.loss-scale.trend: does the scale stay above its floor, without an endless fall?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale. A healthy scaler
// comes down once, then probes upwards now and then; one that only falls tells of NaN in the model, not of a scale to
// be found.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/repeats.h"
#include "checks/scaler.h"

namespace paritect {
namespace {

// Reductions in a row, with no raise between, that no start-up search needs: from the highest start value in
// use (2^32) to 1 are 32 halvings, from the usual 2^16 to a fitting scale rarely more than 8.
constexpr int kReductionsInARow = 8;
// Records at one scale behind a row of reductions after which the search for a scale is over.
constexpr int kSettledRecords = 20;

struct Trend {
  int raised = 0;
  int lowered = 0;
  int lowered_in_a_row = 0;    // at the end of the log
  int overflows_in_a_row = 0;  // records at the end that tell of an overflow
  double lowest = std::numeric_limits<double>::infinity();
  double last = 0;
  double before_fall = 0;  // the scale at which the last row of overflows began
  double highest = 0;
  int at_last = 0;  // records at the end that stand at the last scale
  double row_from = 0;      // the scale at which the last row of reductions began
  int row_begins = 0;       // the record of its first reduction
  int lowered_late = 0;     // reductions in the last fifth of the records
  int records = 0;

  // One clean step, or a few, after a long row of reductions do not tell that a scale was found.
  bool unsettled() const { return lowered_in_a_row >= kReductionsInARow && at_last < kSettledRecords; }
  // No start-up search: a row of reductions, never followed by a raise, over most of the run and up to its end.
  bool gradual() const {
    return lowered_in_a_row >= kReductionsInARow && raised == 0 && lowered_late >= 3 && 2 * row_begins < records &&
           records >= 10 * lowered_in_a_row;
  }
};

Trend Follow(const std::vector<ScalePoint>& points) {
  Trend trend;
  double before = points.front().scale;
  trend.before_fall = before;
  const auto late = points.size() - points.size() / 5;
  for (const ScalePoint& point : points) {
    const int index = trend.records++;
    if (point.scale > before) {
      ++trend.raised;
      trend.lowered_in_a_row = 0;
    } else if (point.scale < before) {
      ++trend.lowered;
      if (trend.lowered_in_a_row++ == 0) {
        trend.row_from = before;
        trend.row_begins = index;
      }
      trend.lowered_late += static_cast<std::size_t>(index) >= late ? 1 : 0;
    }
    if (point.overflow && trend.overflows_in_a_row == 0) trend.before_fall = before;
    trend.overflows_in_a_row = point.overflow ? trend.overflows_in_a_row + 1 : 0;
    trend.lowest = std::min(trend.lowest, point.scale);
    trend.highest = std::max(trend.highest, point.scale);
    trend.at_last = point.scale == before ? trend.at_last + 1 : 1;
    before = point.scale;
  }
  trend.last = before;
  return trend;
}

// The run's own last words ("Minimum loss scale reached", "already at minimum").
bool SaysMinimum(const RunSeries& run) {
  const std::string words = absl::AsciiStrToLower(run.ending.words);
  return absl::StrContains(words, "scale") && absl::StrContains(words, "minimum");
}

enum class TrendVerdict { kHealthy, kAtFloor, kStaysAtFloor, kEndless, kReduced, kGradual, kSearching };

TrendVerdict Judge(const RunSeries& run, const Trend& trend, double floor) {
  // Still overflowing at the end: reduced again and again, or for long below 1 already.
  const bool still_falling =
      trend.overflows_in_a_row > 0 &&
      (trend.lowered_in_a_row >= kReductionsInARow ||
       (trend.last < 1 && std::min(trend.overflows_in_a_row, trend.lowered) >= kReductionsInARow));
  // Fallen to the floor and not come up again, whether or not the log still tells of overflows: from there nothing
  // is left to lower.
  const bool fell_to_floor = trend.last <= floor && trend.last >= floor / 2 && trend.lowered > 1;
  if (SaysMinimum(run) || (fell_to_floor && trend.overflows_in_a_row > 0)) return TrendVerdict::kAtFloor;
  if (fell_to_floor) return TrendVerdict::kStaysAtFloor;
  const bool low = trend.last < std::max(1.0, floor) + 1;
  if (still_falling && low) return TrendVerdict::kEndless;
  if (trend.unsettled() && low) return TrendVerdict::kReduced;
  if (trend.gradual()) return TrendVerdict::kGradual;
  return trend.unsettled() ? TrendVerdict::kSearching : TrendVerdict::kHealthy;
}

v1::Finding& ReportTrend(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                         const Trend& trend, TrendVerdict verdict, MessageArgs args) {
  const bool row = verdict == TrendVerdict::kReduced || verdict == TrendVerdict::kGradual;
  const double from = row                                                              ? trend.row_from
                      : trend.overflows_in_a_row > 0 && verdict != TrendVerdict::kStaysAtFloor ? trend.before_fall
                                                                                       : trend.highest;
  args.emplace_back("from", Short(from));
  switch (verdict) {
    case TrendVerdict::kAtFloor: return AddError(context, result, "scale_at_floor", run.name, args);
    case TrendVerdict::kStaysAtFloor: return AddError(context, result, "scale_at_floor/stays", run.name, args);
    case TrendVerdict::kEndless: return AddError(context, result, "scale_falls_without_end", run.name, args);
    case TrendVerdict::kReduced: return AddError(context, result, "scale_falls_without_end/reduced", run.name, args);
    case TrendVerdict::kGradual: return AddError(context, result, "scale_falls_without_end/gradual", run.name, args);
    case TrendVerdict::kSearching: AddMissing(context, result, "scale_search_unfinished", run.name, args); break;
    case TrendVerdict::kHealthy: break;
  }
  return AddNote(context, result, "measured/scale_trend", run.name, args);
}

void CheckTrend(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts,
                const std::vector<ScalePoint>& points) {
  const Trend trend = Follow(points);
  const TrendVerdict verdict = Judge(run, trend, facts.minimum.has_value() ? facts.minimum->value : 1);
  v1::Finding& finding = ReportTrend(context, result, run, trend, verdict,
                                     {{"run", run.name},
                                      {"last", Short(trend.last)},
                                      {"lowest", Short(trend.lowest)},
                                      {"raised", absl::StrCat(trend.raised)},
                                      {"lowered", absl::StrCat(trend.lowered)},
                                      {"row", absl::StrCat(trend.lowered_in_a_row)},
                                      {"count", absl::StrCat(trend.overflows_in_a_row)},
                                      {"records", absl::StrCat(trend.at_last)},
                                      {"words", run.ending.words}});
  finding.set_migrated(absl::StrCat(Short(trend.before_fall), " -> ", Short(trend.last)));
  SetFact(finding, "last_scale", trend.last);
  SetFact(finding, "lowest_scale", trend.lowest);
  SetFact(finding, "raised", trend.raised);
  SetFact(finding, "lowered", trend.lowered);
  SetFact(finding, "lowered_in_a_row", trend.lowered_in_a_row);
  SetFact(finding, "overflows_in_a_row", trend.overflows_in_a_row);
  finding.add_evidence(points.back().where);
  if (verdict == TrendVerdict::kAtFloor && !run.ending.where.empty()) finding.add_evidence(run.ending.where);
  const bool healthy = verdict == TrendVerdict::kHealthy || verdict == TrendVerdict::kSearching;
  if (healthy && trend.lowest < 1 && facts.kind != ScalerKind::kStatic) {
    SetFact(AddWarning(context, result, "loss_scale_below_one", run.name,
                       {{"run", run.name}, {"scale", Short(trend.lowest)}}),
            "loss_scale", trend.lowest);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries> runs = SeriesOf(context.evidence, Side::kMigrated);
  if (runs.empty()) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_RUN_LOG);
  for (const RunSeries& run : runs) {
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) continue;
    const std::vector<std::string> engines = ScaleEngines(run);
    if (engines.empty()) {
      AddMissing(context, result, "metric_not_printed", run.name, {{"run", run.name}, {"metric", "loss_scale"}});
    }
    for (const std::string& engine : engines) CheckTrend(context, result, run, facts, ScalePoints(run, engine));
  }
}

}  // namespace

extern const Check kLossScaleTrend;
const Check kLossScaleTrend = {"migrated.loss-scale.trend", {}, &Evaluate};

}  // namespace paritect
