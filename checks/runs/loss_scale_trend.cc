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
#include "checks/runs/scaler.h"
#include "checks/series/repeats.h"
#include "common/numbers.h"

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
  double highest = 0;
  int at_last = 0;       // records at the end that stand at the last scale
  double row_from = 0;   // the scale at which the last row of reductions began
  int row_begins = 0;    // the record of its first reduction
  int lowered_late = 0;  // reductions in the last fifth of the records
  int records = 0;
  double floor = 1;
  int skipped_at_floor = 0;  // records that skip where the one before stood at the floor already
  int stood_at_floor = 0;    // the longest stretch of records there behind a reduction
  int stands_there_now = 0;
  std::string lowest_where;
  std::string skipped_where;  // the first of those records

  // Below 1 is told by itself.
  bool at_floor(double scale) const { return scale >= 1 && scale <= floor; }
  // One scale throughout.
  bool stands() const { return raised == 0 && lowered == 0; }
  // The scale from which it came down without a raise between; where it never did, the highest.
  double from() const { return lowered_in_a_row > 0 ? row_from : highest; }
  // One clean step, or a few, after a long row of reductions do not tell that a scale was found.
  bool unsettled() const { return lowered_in_a_row >= kReductionsInARow && at_last < kSettledRecords; }
  // No start-up search: a row of reductions, never followed by a raise, over most of the run and up to its end.
  bool gradual() const {
    return lowered_in_a_row >= kReductionsInARow && raised == 0 && lowered_late >= 3 && 2 * row_begins < records &&
           records >= 10 * lowered_in_a_row;
  }
};

void FollowAtFloor(const ScalePoint& point, double before, Trend& trend) {
  const bool first = trend.records == 1;
  if (!trend.at_floor(point.scale)) {
    trend.stands_there_now = 0;
    return;
  }
  if (!first && trend.at_floor(before) && point.skipped && trend.skipped_at_floor++ == 0) {
    trend.skipped_where = point.where;
  }
  // What stood there from the first record on is told apart: it was not seen falling.
  if (trend.lowered == 0) return;
  trend.stood_at_floor = std::max(trend.stood_at_floor, ++trend.stands_there_now);
}

Trend Follow(const std::vector<ScalePoint>& points, double floor) {
  Trend trend;
  trend.floor = floor;
  double before = points.front().scale;
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
    FollowAtFloor(point, before, trend);
    trend.overflows_in_a_row = point.overflow ? trend.overflows_in_a_row + 1 : 0;
    if (point.scale < trend.lowest) trend.lowest_where = point.where;
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

enum class TrendVerdict {
  kHealthy,
  kAtFloor,
  kStaysAtFloor,
  kStandsAtFloor,  // from the first record on
  kSkipsAtFloor,
  kStoodAtFloor,  // and came up again
  kOneOfUnknownType,
  kBelow,
  kEndless,
  kReduced,
  kGradual,
  kSearching
};

// A scale that never moves. That of bf16 logs is 1 as well, so where the type is not known a 1 tells nothing; only a
// scaler prints less, and only a scaler skips.
TrendVerdict JudgeStanding(const Trend& trend, const ScalerFacts& facts) {
  if (facts.kind == ScalerKind::kStatic || !trend.at_floor(trend.last)) return TrendVerdict::kHealthy;
  const bool scales = !facts.dtype.empty() || trend.skipped_at_floor > 0 || trend.last > 1;
  return scales ? TrendVerdict::kStandsAtFloor : TrendVerdict::kOneOfUnknownType;
}

TrendVerdict Judge(const RunSeries& run, const Trend& trend, const ScalerFacts& facts) {
  if (SaysMinimum(run)) return TrendVerdict::kAtFloor;
  if (trend.stands()) return JudgeStanding(trend, facts);
  // Still overflowing at the end: reduced again and again, or for long below 1 already.
  const bool still_falling =
      trend.overflows_in_a_row > 0 &&
      (trend.lowered_in_a_row >= kReductionsInARow ||
       (trend.last < 1 && std::min(trend.overflows_in_a_row, trend.lowered) >= kReductionsInARow));
  // Fallen to the floor and not come up again, whether or not the log still tells of overflows: from there nothing
  // is left to lower.
  const bool fell_to_floor = trend.last <= trend.floor && trend.last >= std::max(1.0, trend.floor / 2);
  const bool fell_below = trend.last < trend.floor / 2 && trend.lowered > 1 && trend.at_last >= kSettledRecords;
  if (fell_to_floor && trend.overflows_in_a_row > 0) return TrendVerdict::kAtFloor;
  if (fell_to_floor) return TrendVerdict::kStaysAtFloor;
  if (fell_below) return TrendVerdict::kBelow;
  const bool low = trend.last < trend.floor + 1;
  if (still_falling && low) return TrendVerdict::kEndless;
  if (trend.unsettled() && low) return TrendVerdict::kReduced;
  if (trend.gradual()) return TrendVerdict::kGradual;
  if (trend.skipped_at_floor > 0) return TrendVerdict::kSkipsAtFloor;
  if (trend.stood_at_floor >= kSettledRecords) return TrendVerdict::kStoodAtFloor;
  return trend.unsettled() ? TrendVerdict::kSearching : TrendVerdict::kHealthy;
}

v1::Finding& ReportTrend(const CheckContext& context, v1::CheckResult& result, const std::string& subject,
                         const Trend& trend, TrendVerdict verdict, MessageArgs args) {
  args.emplace_back("from", Short(trend.from()));
  switch (verdict) {
    case TrendVerdict::kAtFloor:
      // The run's own words, where they are what tells of the floor.
      return AddError(context, result, trend.overflows_in_a_row == 0 ? "scale_at_floor/words" : "scale_at_floor",
                      subject, args);
    case TrendVerdict::kStaysAtFloor: return AddError(context, result, "scale_at_floor/stays", subject, args);
    case TrendVerdict::kStandsAtFloor: return AddError(context, result, "scale_at_floor/stands", subject, args);
    case TrendVerdict::kSkipsAtFloor: return AddError(context, result, "scale_at_floor/skips", subject, args);
    case TrendVerdict::kStoodAtFloor: return AddError(context, result, "scale_at_floor/stood", subject, args);
    case TrendVerdict::kOneOfUnknownType: AddMissing(context, result, "scale_one_type_unknown", subject, args); break;
    case TrendVerdict::kBelow: return AddError(context, result, "scale_falls_without_end/below", subject, args);
    case TrendVerdict::kEndless: return AddError(context, result, "scale_falls_without_end", subject, args);
    case TrendVerdict::kReduced: return AddError(context, result, "scale_falls_without_end/reduced", subject, args);
    case TrendVerdict::kGradual: return AddError(context, result, "scale_falls_without_end/gradual", subject, args);
    case TrendVerdict::kSearching: AddMissing(context, result, "scale_search_unfinished", subject, args); break;
    case TrendVerdict::kHealthy: break;
  }
  return AddNote(context, result, "measured/scale_trend", subject, args);
}

// NaN compares with nothing: told before anything is followed.
bool ReportNotFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                     const std::string& subject, const std::vector<ScalePoint>& points) {
  // A log that prints 0 throughout says that it has no scaler.
  const bool scales =
      std::any_of(points.begin(), points.end(), [](const ScalePoint& point) { return point.scale > 0; });
  const auto is_bad = [scales](const ScalePoint& point) {
    return !std::isfinite(point.scale) || (scales && point.scale <= 0);
  };
  const auto bad = std::find_if(points.begin(), points.end(), is_bad);
  if (bad == points.end()) return false;
  const std::int64_t count = std::count_if(points.begin(), points.end(), is_bad);
  // A scale that was halved until nothing was left.
  const bool vanished = bad->scale == 0;
  v1::Finding& finding =
      AddError(context, result, vanished ? "scale_falls_without_end/zero" : "loss_scale_not_finite", subject,
               {{"run", subject},
                {"scale", FormatDouble(bad->scale)},
                {"step", absl::StrCat(bad->step)},
                {"count", absl::StrCat(count)}});
  finding.set_migrated(absl::StrCat("step ", bad->step, ": ", FormatDouble(bad->scale)));
  SetFact(finding, "loss_scale", bad->scale);
  SetFact(finding, "step", bad->step);
  SetFact(finding, "count", count);
  SetFact(finding, "run", run.name);
  finding.add_evidence(bad->where);
  return true;
}

struct Followed {
  const std::vector<ScalePoint>* points = nullptr;
  Trend trend;
  TrendVerdict verdict = TrendVerdict::kHealthy;
};

// Ranks and logs that tell of the same steps: the worst of them.
int Badness(TrendVerdict verdict) {
  switch (verdict) {
    case TrendVerdict::kHealthy: return 0;
    case TrendVerdict::kSearching:
    case TrendVerdict::kOneOfUnknownType: return 1;
    default: return 2;
  }
}

void Report(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const std::string& subject,
            const Followed& followed) {
  const auto& [points, trend, verdict] = followed;
  v1::Finding& finding = ReportTrend(context, result, subject, trend, verdict,
                                     {{"run", subject},
                                      {"last", Short(trend.last)},
                                      {"lowest", Short(trend.lowest)},
                                      {"raised", absl::StrCat(trend.raised)},
                                      {"lowered", absl::StrCat(trend.lowered)},
                                      {"row", absl::StrCat(trend.lowered_in_a_row)},
                                      {"count", absl::StrCat(trend.overflows_in_a_row)},
                                      {"records", absl::StrCat(trend.at_last)},
                                      {"skips", absl::StrCat(trend.skipped_at_floor)},
                                      {"floor", Short(trend.floor)},
                                      {"stood", absl::StrCat(trend.stood_at_floor)},
                                      {"words", run.ending.words}});
  finding.set_migrated(absl::StrCat(Short(trend.from()), " -> ", Short(trend.last)));
  SetFact(finding, "from_scale", trend.from());
  SetFact(finding, "last_scale", trend.last);
  SetFact(finding, "lowest_scale", trend.lowest);
  SetFact(finding, "raised", trend.raised);
  SetFact(finding, "lowered", trend.lowered);
  SetFact(finding, "lowered_in_a_row", trend.lowered_in_a_row);
  SetFact(finding, "overflows_in_a_row", trend.overflows_in_a_row);
  finding.add_evidence(points->back().where);
  if (verdict == TrendVerdict::kAtFloor && !run.ending.where.empty()) finding.add_evidence(run.ending.where);
  if (trend.skipped_at_floor > 0) {
    SetFact(finding, "skipped_at_floor", trend.skipped_at_floor);
    finding.add_evidence(trend.skipped_where);
  }
  // Below 1 gradients are made smaller. A log that prints 0 throughout has no scaler.
  if (Badness(verdict) > 1 || !(trend.lowest < 1) || !(trend.highest > 0)) return;
  v1::Finding& below =
      AddError(context, result, "loss_scale_below_one", subject, {{"run", subject}, {"scale", Short(trend.lowest)}});
  SetFact(below, "loss_scale", trend.lowest);
  below.set_migrated(Short(trend.lowest));
  below.add_evidence(trend.lowest_where);
}

// What a saved state of the scaler holds is the scale at one moment: enough to fail by.
void CheckState(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts) {
  if (!facts.state_scale.has_value() || facts.state_scale->value > facts.floor()) return;
  const double scale = facts.state_scale->value;
  v1::Finding& finding = AddError(context, result, scale < 1 ? "loss_scale_below_one" : "scale_at_floor/state",
                                  run.name, {{"run", run.name}, {"scale", Short(scale)}});
  SetFact(finding, "loss_scale", scale);
  finding.set_migrated(Short(scale));
  finding.add_evidence(facts.state_scale->origin);
}

void CheckTrend(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts,
                const std::string& engine) {
  const std::string subject = engine.empty() ? run.name : absl::StrCat(run.name, ", engine ", engine);
  const std::vector<std::vector<ScalePoint>> all = ScaleSeries(run, engine);
  for (const std::vector<ScalePoint>& points : all) {
    if (ReportNotFinite(context, result, run, subject, points)) return;
  }
  Followed worst;
  for (const std::vector<ScalePoint>& points : all) {
    const Trend trend = Follow(points, facts.floor());
    const TrendVerdict verdict = Judge(run, trend, facts);
    const bool lower = worst.points != nullptr && Badness(verdict) == Badness(worst.verdict) && trend.lowest < 1 &&
                       trend.lowest < worst.trend.lowest;
    if (worst.points == nullptr || lower || Badness(verdict) > Badness(worst.verdict)) {
      worst = {&points, trend, verdict};
    }
  }
  if (worst.points != nullptr) Report(context, result, run, subject, worst);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kMigrated);
  if (runs.empty()) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_RUN_LOG);
  for (const RunSeries& run : runs) {
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) continue;
    const std::vector<std::string> engines = ScaleEngines(run);
    if (engines.empty()) {
      AddMissing(context, result, "metric_not_printed", run.name, {{"run", run.name}, {"metric", "loss_scale"}});
    }
    for (const std::string& engine : engines) CheckTrend(context, result, run, facts, engine);
    CheckState(context, result, run, facts);
  }
}

}  // namespace

extern const Check kLossScaleTrend;
const Check kLossScaleTrend = {"migrated.loss-scale.trend", {}, &Evaluate};

}  // namespace paritect
