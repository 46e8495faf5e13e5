#include "checks/runs/data_position.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"

namespace paritect {
namespace {

void Report(const CheckContext& context, v1::CheckResult& result, const std::string& subject, Side side,
            std::int64_t expected, const std::vector<double>& found, const std::string& where) {
  std::string list;
  for (double one : found) absl::StrAppend(&list, list.empty() ? "" : ", ", static_cast<std::int64_t>(one));
  v1::Finding& finding = AddError(context, result, "data_position_lost", subject,
                                  {{"run", subject}, {"expected", absl::StrCat(expected)}, {"found", list}});
  (side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())->assign(list);
  SetFact(finding, "expected", expected);
  SetFact(finding, "found", absl::MakeConstSpan(found));
  if (!where.empty()) finding.add_evidence(where);
}

// Sample numbers of one rank and segment.
struct Stretch {
  std::int64_t first = 0;
  std::set<std::int64_t> samples;
  std::string where;
};

// The first run of sample numbers after a resume, from all ranks together, must begin where the samples before it
// end. Only where samples are read in order: a shuffle has no next number.
void CheckSegments(const CheckContext& context, v1::CheckResult& result, const std::string& run, Side side,
                   const std::map<int, std::vector<Stretch>>& segments) {
  std::set<std::int64_t> read;
  bool first_segment = true;
  for (const auto& [segment, stretches] : segments) {
    std::vector<double> starts;
    std::int64_t lowest = -1;
    for (const Stretch& stretch : stretches) {
      starts.push_back(static_cast<double>(stretch.first));
      lowest = lowest < 0 ? stretch.first : std::min(lowest, stretch.first);
    }
    if (!first_segment && !read.empty()) {
      const bool in_order = *read.begin() == 0 && *read.rbegin() + 1 == static_cast<std::int64_t>(read.size());
      if (!in_order) return;
      const auto expected = static_cast<std::int64_t>(read.size());
      std::sort(starts.begin(), starts.end());
      if (lowest != expected) Report(context, result, run, side, expected, starts, stretches.front().where);
    }
    first_segment = false;
    for (const Stretch& stretch : stretches) read.insert(stretch.samples.begin(), stretch.samples.end());
  }
}

}  // namespace

bool WasResumed(const RunSeries& run) {
  return std::any_of(run.logs.begin(), run.logs.end(),
                     [](const LogSource& source) { return source.log().segments_size() > 1; });
}

void CheckConsumedSamples(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  const CurveSet& set = run.Curves(Metric::kSamples);
  if (!set.problems.empty()) return;  // said where a curve is needed
  for (const Curve& curve : set.curves) {
    std::vector<double> per_step;
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const CurvePoint& before = curve.points[i - 1];
      const CurvePoint& point = curve.points[i];
      per_step.push_back((point.value - before.value) / static_cast<double>(point.step - before.step));
    }
    if (per_step.size() < 3) continue;
    const double usual = Median(per_step);
    std::set<std::int64_t> resumed_after;
    for (const LogSource& source : run.logs) {
      for (int i = 0; i + 1 < source.log().segments_size(); ++i) {
        resumed_after.insert(source.log().segments(i + 1).first());
      }
      if (run.logs.size() > 1 && source.log().segments_size() > 0)
        resumed_after.insert(source.log().segments(0).first());
    }
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const CurvePoint& before = curve.points[i - 1];
      const CurvePoint& point = curve.points[i];
      const double steps = static_cast<double>(point.step - before.step);
      // A batch that grows on purpose changes the rate for good and not at a resume: the intervals beside this one tell
      // the rates that are possible.
      const double rate_before = i >= 2 ? per_step[i - 2] : usual;
      const double rate_after = i < per_step.size() ? per_step[i] : usual;
      const double low = std::min(rate_before, rate_after);
      const double high = std::max(rate_before, rate_after);
      const double expected = before.value + (rate_before > 0 ? rate_before : usual) * steps;
      // A counter that goes back has been reset, whoever says so.
      const bool at_resume = point.value <= before.value ||
                             std::any_of(resumed_after.begin(), resumed_after.end(),
                                         [&](std::int64_t step) { return step > before.step && step <= point.step; });
      const bool possible = point.value > before.value + low * steps - usual && low > 0 &&
                            point.value < before.value + high * steps + usual;
      if (!at_resume || possible || std::fabs(point.value - expected) < usual) continue;
      Report(context, result, run.name, run.side, static_cast<std::int64_t>(std::llround(expected)), {point.value},
             point.where);
    }
  }
}

void CheckSampleNumbers(const CheckContext& context, v1::CheckResult& result, Side side) {
  // By run, data set and epoch; then by segment.
  std::map<std::string, std::map<int, std::vector<Stretch>>> recordings;
  std::map<std::string, std::string> names;
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_SHARDS, [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
    if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_shards()) return;
    const v1::ShardList& list = evidence.shards();
    if (!list.sample_numbers() || list.items().empty()) return;
    Stretch stretch;
    stretch.where = std::string(evidence.source());
    for (int i = 0; i < list.items_size(); ++i) {
      std::int64_t number = 0;
      if (!absl::SimpleAtoi(list.items(i), &number)) return;
      if (i == 0) stretch.first = number;
      stretch.samples.insert(number);
    }
    const std::string key = absl::StrCat(bundle.plan().run(), "\n", list.dataset(), "\n", list.epoch());
    names[key] = bundle.plan().run();
    recordings[key][list.segment()].push_back(std::move(stretch));
  });
  for (const auto& [key, segments] : recordings) CheckSegments(context, result, names[key], side, segments);
}

}  // namespace paritect
