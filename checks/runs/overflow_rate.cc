// The overflow rate: skipped steps / steps, at most 0.5 %, 0.1 % with a large global batch.
// Source: pre-tuning checklist, 正确使能混合精度训练 and 在NPU上正确使能Loss Scale.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/numbers/statistics.h"
#include "checks/runs/scale_bound.h"
#include "checks/runs/scaler.h"
#include "checks/series/overflow.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

struct RateLimit {
  double limit = 0;
  bool batch_known = false;
};

RateLimit LimitFor(const Profile& profile, const ScalerFacts& facts) {
  RateLimit result{profile.threshold("overflow_rate"), facts.global_batch.has_value()};
  if (result.batch_known && facts.global_batch->value >= profile.threshold("large_global_batch")) {
    result.limit = profile.threshold("overflow_rate_large");
  }
  return result;
}

std::string Subject(const RunSeries& run, const OverflowCount& count) {
  return count.engine.empty() ? run.name : absl::StrCat(run.name, ", engine ", count.engine);
}

// The first step at which a loss that is no number overflowed, where all other overflows stay within the limit: what
// follows from such a loss is no matter of the scale. The scale that a step lowers may be printed with the next one.
std::optional<std::int64_t> OverflowsByLoss(const RunSeries& run, const OverflowCount& count, double limit) {
  std::set<std::int64_t> with;
  std::set<std::int64_t> without;
  for (const LogSource& source : run.logs) {
    double scale = 0;
    bool lost = false;
    for (const v1::StepRecord& record : source.log().records()) {
      const bool now = record.has_loss() && !std::isfinite(record.loss());
      const bool fell = record.has_loss_scale() && record.loss_scale() < scale;
      if (record.overflow() || fell) (now || lost ? with : without).insert(record.step());
      if (record.has_loss_scale()) scale = record.loss_scale();
      lost = now;
    }
  }
  const auto elsewhere = std::max<std::int64_t>(static_cast<std::int64_t>(without.size()),
                                                count.skipped - static_cast<std::int64_t>(with.size()));
  if (with.empty() || static_cast<double>(elsewhere) > limit * static_cast<double>(count.steps)) return std::nullopt;
  return *with.begin();
}

void Fill(v1::Finding& finding, const RunSeries& run, const OverflowCount& count, const ScalerFacts& facts,
          double limit) {
  SetFact(finding, "rate", count.rate());
  SetFact(finding, "skipped", count.skipped);
  SetFact(finding, "steps", count.steps);
  SetFact(finding, "limit", limit);
  SetFact(finding, "run", run.name);
  if (!count.engine.empty()) SetFact(finding, "engine", count.engine);
  if (facts.global_batch.has_value()) SetFact(finding, "global_batch_size", facts.global_batch->value);
  const RateBounds bounds = RateInterval(count.skipped, count.steps);
  SetFact(finding, "rate_low", bounds.low);
  SetFact(finding, "rate_high", bounds.high);
  SetFact(finding, "skipped_at_start", count.skipped_at_start);
  SetFact(finding, "rate_after_start", count.rate_after_start());
  if (const auto expected = facts.expected_rate()) SetFact(finding, "expected_probing_rate", *expected);
  const std::string text = absl::StrCat(count.skipped, " / ", count.steps, " = ", Percent(count.rate()));
  (run.side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())->assign(text);
  for (const std::string& where : count.evidence) finding.add_evidence(where);
}

void ReportUndetected(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                      const OverflowCount& count) {
  const bool saturated = count.saturated > 0 && count.unreported == 0;
  const std::int64_t steps = saturated ? count.saturated : count.unreported;
  v1::Finding& finding = AddError(
      context, result, saturated ? "overflow_undetected/saturated" : "overflow_undetected", Subject(run, count),
      {{"run", Subject(run, count)}, {"count", absl::StrCat(steps)}, {"steps", absl::StrCat(count.steps)}});
  SetFact(finding, "count", steps);
  SetFact(finding, "steps", count.steps);
  SetFact(finding, "skipped", count.skipped);
  for (const std::string& where : count.unreported_evidence) finding.add_evidence(where);
}

void ReportRate(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const OverflowCount& count,
                const ScalerFacts& facts) {
  const RateLimit limit = LimitFor(context.profile, facts);
  MessageArgs args = {{"run", Subject(run, count)},
                      {"skipped", absl::StrCat(count.skipped)},
                      {"steps", absl::StrCat(count.steps)},
                      {"rate", Percent(count.rate())},
                      {"limit", Percent(limit.limit)},
                      {"low", Percent(RateInterval(count.skipped, count.steps).low)},
                      {"high", Percent(RateInterval(count.skipped, count.steps).high)},
                      {"at_start", absl::StrCat(count.skipped_at_start)},
                      {"start", absl::StrCat(count.steps_at_start)},
                      {"later", absl::StrCat(count.skipped - count.skipped_at_start)},
                      {"later_rate", Percent(count.rate_after_start())}};
  // A rate exactly at its limit passes; 5 / 1000 must not fail by the last bit of 0.005.
  const auto over = [&](double of) { return count.rate() > of * (1 + 1e-12); };
  if (over(limit.limit)) {
    const std::optional<double> expected = facts.expected_rate();
    const double times = context.profile.threshold("overflow_probing");
    const bool probing = expected.has_value() && count.rate() <= times * *expected;
    // A search takes a beginning of the run, not most of it.
    const bool start = count.skipped_at_start > 0 && 2 * count.steps_at_start <= count.steps &&
                       count.steps - count.steps_at_start >= 20 &&
                       count.rate_after_start() <= limit.limit * (1 + 1e-12);
    if (probing) args.emplace_back("expected", Percent(*expected));
    if (probing) args.emplace_back("window", Short(facts.window->value));
    Fill(AddError(context, result,
                  start     ? "overflow_rate_exceeded/start"
                  : probing ? "overflow_rate_exceeded/probing"
                            : "overflow_rate_exceeded",
                  Subject(run, count), args),
         run, count, facts, limit.limit);
    if (const auto since = OverflowsByLoss(run, count, limit.limit)) {
      SetFact(*result.mutable_findings()->rbegin(), "step", *since);
    }
    return;
  }
  Fill(AddNote(context, result, "measured/overflow", Subject(run, count), args), run, count, facts, limit.limit);
  if (!limit.batch_known && over(context.profile.threshold("overflow_rate_large"))) {
    const double large = context.profile.threshold("overflow_rate_large");
    Fill(AddWarning(context, result, "global_batch_needed", Subject(run, count),
                    {{"run", Subject(run, count)}, {"rate", Percent(count.rate())}, {"limit", Percent(large)}}),
         run, count, facts, large);
  }
}

// More skipped steps than steps: what rests on the count is not performed.
bool RequirePossible(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                     const OverflowCount& count) {
  if (!count.contradicts_itself()) return true;
  AddMissing(
      context, result, "skips_exceed_steps", run.name,
      {{"run", Subject(run, count)}, {"skipped", absl::StrCat(count.skipped)}, {"steps", absl::StrCat(count.steps)}});
  return false;
}

// Every reduction of a dynamic scale is an overflow, whatever the log's own count says: the larger number stands.
OverflowCount WithReductions(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                             const OverflowCount& told, const ScalerFacts& facts) {
  OverflowCount count = told;
  if (facts.kind != ScalerKind::kDynamic) return count;
  const bool seen_by_scale = !count.reported && count.scale_at_every_step;
  count.reported = count.reported || count.scale_at_every_step;
  // A counter may tell of the last overflow with the next line: one apart is no contradiction.
  const std::int64_t told_late = seen_by_scale ? 0 : 1;
  if (count.reductions <= count.skipped + count.applied + told_late) return count;
  v1::Finding& finding = AddFinding(context, result, seen_by_scale ? v1::SEVERITY_NOTE : v1::SEVERITY_WARNING,
                                    "overflow_by_scale", Subject(run, count),
                                    {{"run", Subject(run, count)},
                                     {"skipped", absl::StrCat(count.skipped)},
                                     {"reductions", absl::StrCat(count.reductions)}});
  SetFact(finding, "counted", count.skipped);
  SetFact(finding, "reductions", count.reductions);
  count.skipped = count.reductions - count.applied;
  return count;
}

// Messages in a row that were taken for one overflow that several ranks print: were they overflows of their own, the
// rate might be another. Where even so it is within the limit, or a counter tells, nothing is open.
void RequireOneOverflowALine(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                             const OverflowCount& count, double limit) {
  std::int64_t merged = 0;
  for (const LogSource& source : run.logs) {
    if (source.log().skipped_counted()) continue;
    merged += std::count_if(source.log().notes().begin(), source.log().notes().end(),
                            [](const v1::Note& note) { return note.kind() == "overflow_lines_merged"; });
  }
  const double most =
      static_cast<double>(count.skipped + merged) / static_cast<double>(std::max<std::int64_t>(count.steps, 1));
  if (merged == 0 || count.rate() > limit || most <= limit) return;
  AddMissing(context, result, "overflow_lines_merged", run.name,
             {{"run", Subject(run, count)},
              {"skipped", absl::StrCat(count.skipped)},
              {"merged", absl::StrCat(merged)},
              {"steps", absl::StrCat(count.steps)}});
}

// The scale that is printed now and then bounds what was skipped: within the limit, whatever stands between the lines.
bool WithinByScale(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                   const OverflowCount& count, const ScalerFacts& facts) {
  const std::optional<std::int64_t> most = MostSkippedByScale(count, facts);
  const RateLimit limit = LimitFor(context.profile, facts);
  const double allowed = limit.batch_known ? limit.limit : context.profile.threshold("overflow_rate_large");
  const auto steps = static_cast<double>(count.steps);
  if (!most.has_value() || *most < count.skipped || static_cast<double>(*most) > allowed * steps) return false;
  v1::Finding& note = AddNote(context, result, "measured/overflow_bound", Subject(run, count),
                              {{"run", Subject(run, count)},
                               {"most", absl::StrCat(*most)},
                               {"steps", absl::StrCat(count.steps)},
                               {"first", Short(count.trail->first)},
                               {"last", Short(count.trail->last)},
                               {"window", Short(facts.window->value)},
                               {"limit", Percent(limit.limit)}});
  SetFact(note, "skipped_at_most", *most);
  SetFact(note, "steps", count.steps);
  SetFact(note, "limit", limit.limit);
  note.add_evidence(facts.window->origin);
  return true;
}

void CheckCount(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const OverflowCount& told,
                const ScalerFacts& facts) {
  if (!RequirePossible(context, result, run, told)) return;
  const OverflowCount count = WithReductions(context, result, run, told, facts);
  const MessageArgs args = {{"run", Subject(run, count)}, {"skipped", absl::StrCat(count.skipped)}};
  if (count.lines_beside_counter > 0) {
    v1::Finding& finding =
        AddWarning(context, result, "conflict_within_side/skipped", Subject(run, count),
                   {{"run", Subject(run, count)}, {"lines", absl::StrCat(count.lines_beside_counter)}});
    SetFact(finding, "lines", count.lines_beside_counter);
    for (const std::string& where : count.evidence) finding.add_evidence(where);
  }
  if (count.unreported > 0 || count.saturated > 0) ReportUndetected(context, result, run, count);
  if (count.applied > 0) {
    v1::Finding& finding = AddError(context, result, "overflow_applied", Subject(run, count),
                                    {{"run", Subject(run, count)}, {"count", absl::StrCat(count.applied)}});
    SetFact(finding, "count", count.applied);
    for (const std::string& where : count.applied_evidence) finding.add_evidence(where);
  }
  AddHole(context, result, run);
  if (StepsByOrder(run)) {
    AddMissing(context, result, "steps_not_known", run.name, {{"run", run.name}});
  } else if (count.steps == 0) {
    AddMissing(context, result, "steps_not_printed", run.name, args);
  } else if (!count.reported) {
    if (WithinByScale(context, result, run, count, facts)) return;
    AddMissing(context, result, "overflow_not_reported", run.name, args);
    // What the scale tells is a part of the overflows: enough to fail by.
    if (count.rate() > LimitFor(context.profile, facts).limit) ReportRate(context, result, run, count, facts);
  } else {
    // A dynamic scale that never falls between two printed steps shows that nothing overflowed there.
    if (count.sampled && (facts.kind != ScalerKind::kDynamic || count.scale_moves_unseen) &&
        !WithinByScale(context, result, run, count, facts)) {
      AddMissing(context, result, "overflow_sampled", run.name,
                 {{"run", Subject(run, count)},
                  {"skipped", absl::StrCat(count.skipped)},
                  {"told", absl::StrCat(count.told_steps)},
                  {"steps", absl::StrCat(count.steps)}});
    }
    RequireOneOverflowALine(context, result, run, count, LimitFor(context.profile, facts).limit);
    ReportRate(context, result, run, count, facts);
  }
}

// The migrated rate against the baseline's: one that is several times as high beyond chance is worth a word.
void CompareSides(const CheckContext& context, v1::CheckResult& result, const RunSeries& migrated) {
  const std::vector<RunSeries>& baseline = SeriesOf(context, Side::kBaseline);
  if (baseline.empty() || baseline[0].logs.empty()) return;
  const std::vector<OverflowCount> a = CountOverflows(baseline[0]);
  const std::vector<OverflowCount> b = CountOverflows(migrated);
  if (a.size() != 1 || b.size() != 1 || a[0].steps == 0 || b[0].steps == 0) return;
  const double times = context.profile.threshold("overflow_times");
  if (!a[0].reported || !b[0].reported || b[0].rate() <= times * a[0].rate()) return;
  const double p =
      FisherExact(a[0].skipped, std::max(a[0].steps, a[0].skipped), b[0].skipped, std::max(b[0].steps, b[0].skipped));
  if (p >= context.profile.threshold("overflow_chance")) return;
  v1::Finding& finding = AddWarning(context, result, "overflow_more_than_baseline", migrated.name,
                                    {{"migrated", Percent(b[0].rate())}, {"baseline", Percent(a[0].rate())}});
  finding.set_baseline(absl::StrCat(a[0].skipped, " / ", a[0].steps));
  finding.set_migrated(absl::StrCat(b[0].skipped, " / ", b[0].steps));
  SetFact(finding, "p", p);
}

// bfloat16 and fp32 need no scaler and so have no overflow rate; that steps are skipped all the same is worth a look.
void WarnOfSkips(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts) {
  for (const OverflowCount& count : CountOverflows(run)) {
    const double limit = LimitFor(context.profile, facts).limit;
    if (count.steps == 0 || count.rate() <= limit || !RequirePossible(context, result, run, count)) continue;
    Fill(AddWarning(context, result, "skipped_without_scaler", Subject(run, count),
                    {{"run", Subject(run, count)},
                     {"skipped", absl::StrCat(count.skipped)},
                     {"steps", absl::StrCat(count.steps)},
                     {"rate", Percent(count.rate())}}),
         run, count, facts, limit);
  }
}

}  // namespace

void EvaluateOverflowRate(const CheckContext& context, v1::CheckResult& result, Side side) {
  for (const RunSeries& run : SeriesOf(context, side)) {
    if (run.logs.empty()) continue;
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) {
      WarnOfSkips(context, result, run, facts);
      continue;
    }
    const std::vector<OverflowCount> counts = CountOverflows(run);
    if (counts.empty()) AddMissing(context, result, "no_steps_in_log", run.name, {{"run", run.name}});
    for (const OverflowCount& count : counts) CheckCount(context, result, run, count, facts);
    if (side == Side::kMigrated) CompareSides(context, result, run);
    if (const std::optional<RankDisagreement> ranks = FindRankDisagreement(run)) {
      v1::Finding& finding = AddError(context, result, "overflow_count_differs", run.name,
                                      {{"a", ranks->a},
                                       {"b", ranks->b},
                                       {"count_a", absl::StrCat(ranks->count_a)},
                                       {"count_b", absl::StrCat(ranks->count_b)}});
      SetFact(finding, "count_a", ranks->count_a);
      SetFact(finding, "count_b", ranks->count_b);
      finding.add_evidence(ranks->a);
      finding.add_evidence(ranks->b);
    }
  }
}

}  // namespace paritect
