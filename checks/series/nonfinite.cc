#include "checks/series/nonfinite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/series/left_out.h"
#include "common/numbers.h"
#include "rules/log_formats.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

constexpr int kEvidenceMax = 5;

// Steps at which one thing went wrong. Ranks that print the same count once.
struct Events {
  std::map<std::int64_t, double> values;  // by step
  std::set<int> ranks;
  std::vector<std::string> where;

  bool any() const { return !values.empty(); }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t first_step() const { return values.begin()->first; }
  double value() const { return values.begin()->second; }
  void Add(const v1::StepRecord& record, double seen, const LogSource& source, int rank) {
    values.try_emplace(record.step(), seen);  // without a step: that of the line before
    ranks.insert(rank);
    if (where.size() < kEvidenceMax) where.push_back(Where(source, record.line()));
  }
};

struct Found {
  Events nan_loss;
  Events nan_eval;
  Events nan_accuracy;
  Events zeros;
  Events missing;
  Events bad_norm;                          // NaN or infinite, of steps that are not known to have been skipped
  Events nan_norm;                          // of these: NaN
  Events nan_applied;                       // of these: the update is known to have been made
  std::set<std::int64_t> norm_steps;        // that print a norm
  std::map<std::string, Events> terms;      // of the loss, by name
  std::map<std::string, Events> norms;      // named gradient norms that are NaN
  std::map<std::string, Events> infinite;   // named gradient norms
  std::map<std::string, Events> evaluated;  // terms of a validation loss
  std::set<int> ranks;                      // that print a loss, NaN or not
};

// What a metric's name tells, looked up once a name.
enum class Figure { kOther, kTerm, kNorm, kEvaluated };

Figure FigureOf(const std::string& name) {
  thread_local std::map<std::string, Figure> known;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  constexpr std::size_t kNamesMax = 4096;
  if (known.size() >= kNamesMax) known.clear();
  const Figure figure = NamesGradientNorm(name)       ? Figure::kNorm
                        : !NamesLossTerm(name)        ? Figure::kOther
                        : NamesEvaluationFigure(name) ? Figure::kEvaluated
                                                      : Figure::kTerm;
  return known.emplace(name, figure).first->second;
}

// Of a loss of exactly 0 after real ones, the profile's.
struct ZeroLimits {
  std::size_t losses = 0;    // in a row: a single zero may be a rounded loss
  double smallest = 0;       // where no loss was as small as this,
  double of_resolution = 0;  // nor as small as so many units of its last digit
};

ZeroLimits ZeroLimitsOf(const Profile& profile) {
  return {static_cast<std::size_t>(profile.threshold("zero_losses")), profile.threshold("zero_loss_smallest"),
          profile.threshold("zero_loss_of_resolution")};
}

// Walks one log's records of one rank and engine in file order.
class Walker {
 public:
  Walker(const LogSource& source, int rank, const ZeroLimits& zero, Found& found)
      : source_(source), rank_(rank), zero_(zero), found_(found) {}

  void Next(const v1::StepRecord& record) {
    if (record.has_eval_loss() && !std::isfinite(record.eval_loss())) {
      found_.nan_eval.Add(record, record.eval_loss(), source_, rank_);
    }
    if (record.has_accuracy() && !record.accuracy_of_training() && !std::isfinite(record.accuracy())) {
      found_.nan_accuracy.Add(record, record.accuracy(), source_, rank_);
    }
    const bool skipped = !record.step_unknown() && Skipped(record);
    NextFigures(record, skipped);
    if (record.step_unknown()) {
      if (record.overflow() && !record.overflow_applied()) messages_.insert(records_.size());
      return;
    }
    if (record.has_skipped()) counted_to_ = record.step();
    if (record.has_grad_norm()) found_.norm_steps.insert(record.step());
    if (record.has_grad_norm() && !std::isfinite(record.grad_norm()) && !skipped) bad_norms_.push_back(records_.size());
    records_.push_back(&record);
    if (record.loss_absent() && !skipped) absent_.push_back(&record);
    if (record.has_loss()) {
      found_.ranks.insert(rank_);
      NextLoss(record, skipped);
    }
    // Megatron prints the mean of an interval over its steps without NaN, and how many it left out. Those of skipped
    // steps are overflows of the search for a scale.
    const auto left_out = record.metrics().find("number of nan iterations");
    if (left_out != record.metrics().end() && left_out->second > static_cast<double>(record.skipped())) {
      found_.nan_loss.Add(record, std::numeric_limits<double>::quiet_NaN(), source_, rank_);
    }
  }

  // One NaN before the first value of a table of values that others wrote (a value for every step of a grid) is one
  // that was not recorded. A log prints what the training gave.
  void End() {
    for (const std::size_t at : bad_norms_) JudgeNorm(at);
    if (!zeros_.empty() && IsFarFromZero()) TakeZeros();  // nothing can follow to make three
    // A log without any loss is of a rank that prints none.
    for (const v1::StepRecord* record : absent_) {
      if (seen_real_ || !leading_.empty()) found_.missing.Add(*record, 0, source_, rank_);
    }
    if (seen_real_ && leading_.size() == 1 && IsTable(*leading_[0].first)) return;
    for (const auto& [record, value] : leading_) found_.nan_loss.Add(*record, value, source_, rank_);
  }

 private:
  bool IsTable(const v1::StepRecord& record) const {
    return FactsOfLogFormat(source_.log().format()).may_be_a_table && record.line() == 0;
  }

  // A step that an overflow made the scaler skip has no loss that counts. A counter over several steps excuses a value
  // only where it counts them all: a mean is taken over those that were not skipped.
  bool Skipped(const v1::StepRecord& record) const {
    if (record.overflow()) return true;
    if (record.skipped() <= 0) return false;
    return record.skipped() >= record.step() - counted_to_.value_or(record.step() - record.skipped());
  }

  // A message stands before or behind the record of its step.
  void JudgeNorm(std::size_t at) {
    if (messages_.contains(at) || messages_.contains(at + 1)) return;
    const Update update = UpdateAt(source_.log().format(), records_, at);
    if (update == Update::kLeftOut) return;
    const v1::StepRecord& record = *records_[at];
    found_.bad_norm.Add(record, record.grad_norm(), source_, rank_);
    if (!std::isnan(record.grad_norm())) return;
    found_.nan_norm.Add(record, record.grad_norm(), source_, rank_);
    if (update == Update::kMade) found_.nan_applied.Add(record, record.grad_norm(), source_, rank_);
  }

  // Parts of the loss and named gradient norms, which the total may hide.
  void NextFigures(const v1::StepRecord& record, bool skipped) {
    const bool whole_told = record.has_loss() && !std::isfinite(record.loss());
    const bool norm_told = record.has_grad_norm() && !std::isfinite(record.grad_norm());
    const bool before_table = !seen_real_ && IsTable(record);
    for (const auto& [name, value] : record.metrics()) {
      if (std::isfinite(value)) continue;
      const Figure figure = FigureOf(name);
      if (figure == Figure::kOther || (skipped && figure != Figure::kEvaluated)) continue;
      if (figure == Figure::kTerm && (whole_told || before_table)) continue;
      if (figure == Figure::kNorm && norm_told) continue;
      auto& events = figure == Figure::kTerm        ? found_.terms
                     : figure == Figure::kEvaluated ? found_.evaluated
                     : std::isnan(value)            ? found_.norms
                                                    : found_.infinite;
      events[name].Add(record, value, source_, rank_);
    }
  }

  void NextLoss(const v1::StepRecord& record, bool skipped) {
    const double loss = record.loss();
    if (!std::isfinite(loss)) {
      if (skipped) return;
      if (seen_real_) {
        found_.nan_loss.Add(record, loss, source_, rank_);
      } else {
        leading_.emplace_back(&record, loss);
      }
      return;
    }
    if (loss != 0) {
      seen_real_ = true;
      zeros_.clear();
      smallest_ = std::min(smallest_, std::fabs(loss));
      if (record.has_loss_resolution()) resolution_ = std::max(resolution_, record.loss_resolution());
      return;
    }
    if (!seen_real_) return;
    const bool nan_beside = record.has_grad_norm() && std::isnan(record.grad_norm());
    zeros_.push_back(&record);
    if (nan_beside || reported_ || zeros_.size() >= zero_.losses || (++single_ >= zero_.losses && IsFarFromZero())) {
      TakeZeros();
    }
  }

  void TakeZeros() {
    reported_ = true;
    for (const v1::StepRecord* zero : zeros_) found_.zeros.Add(*zero, 0, source_, rank_);
    zeros_.clear();
  }

  // No loss before came near what would be printed as 0: then 0 is no rounded loss.
  bool IsFarFromZero() const { return smallest_ > zero_.smallest && smallest_ > zero_.of_resolution * resolution_; }

  const LogSource& source_;
  const int rank_;
  const ZeroLimits zero_;
  Found& found_;
  std::optional<std::int64_t> counted_to_;  // the step up to which the counter of skipped steps has told
  bool seen_real_ = false;
  bool reported_ = false;
  std::size_t single_ = 0;  // zeros so far, in a row or not
  double smallest_ = std::numeric_limits<double>::infinity();
  double resolution_ = 0;  // of printed losses
  std::vector<const v1::StepRecord*> zeros_;
  std::vector<const v1::StepRecord*> records_;
  std::vector<const v1::StepRecord*> absent_;
  std::vector<std::size_t> bad_norms_;
  std::set<std::size_t> messages_;  // of overflows: how many records stand before them
  std::vector<std::pair<const v1::StepRecord*, double>> leading_;
};

// Some ranks and not the others: "3, 5"; "" where all do or ranks are not known.
std::string OddRanks(const Events& events, const std::set<int>& all) {
  if (events.ranks.size() >= all.size() || events.ranks.contains(-1)) return "";
  return absl::StrJoin(events.ranks, ", ");
}

void Report(const CheckContext& context, v1::CheckResult& result, v1::Severity severity, absl::string_view id,
            const RunSeries& run, const Events& events, const std::set<int>& all_ranks, const std::string& name = "") {
  if (!events.any()) return;
  const std::string odd = OddRanks(events, all_ranks);
  // One node of many is another fault than a training that goes wrong everywhere.
  const bool one_of_many = id == "nan_loss" && !odd.empty();
  v1::Finding& finding =
      AddFinding(context, result, severity, one_of_many ? "nan_loss/ranks" : id, run.name,
                 {{"run", run.name},
                  {"step", absl::StrCat(events.first_step())},
                  {"count", absl::StrCat(events.count())},
                  {"ranks", odd},
                  {"others", absl::StrCat(all_ranks.size() - std::min(all_ranks.size(), events.ranks.size()))},
                  {"name", name},
                  {"value", FormatDouble(events.value())}});
  SetFact(finding, "step", events.first_step());
  SetFact(finding, "count", events.count());
  SetFact(finding, "value", events.value());
  SetFact(finding, "run", run.name);
  if (!name.empty()) SetFact(finding, "metric", name);
  if (!odd.empty()) SetFact(finding, "ranks", odd);
  for (const std::string& where : events.where) finding.add_evidence(where);
  (run.side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())
      ->assign(absl::StrCat(id == "loss_missing" ? "no loss" : FormatDouble(events.value()), " (", run.name, ")"));
}

// A figure that stands at NaN on the other side as well, wherever both print it, tells nothing of the migration; the
// training lives with it.
bool AlikeOnTheOtherSide(const CheckContext& context, const RunSeries& run, const std::string& name,
                         const Events& events) {
  const Side other = run.side == Side::kBaseline ? Side::kMigrated : Side::kBaseline;
  for (const RunSeries& one : SeriesOf(context, other)) {
    std::size_t alike = 0;
    bool finite = false;
    for (const LogSource& source : one.logs) {
      for (const v1::StepRecord& record : source.log().records()) {
        if (!events.values.contains(record.step())) continue;
        const auto found = record.metrics().find(name);
        if (found == record.metrics().end()) continue;
        finite = finite || std::isfinite(found->second);
        alike += std::isfinite(found->second) ? 0 : 1;
      }
    }
    const double share = context.profile.threshold("nan_alike_share") * static_cast<double>(events.values.size());
    if (!finite && static_cast<double>(alike) >= share && alike > 0) return true;
  }
  return false;
}

// Whether a step with such a norm was skipped: nothing says so, and nothing rules it out.
void MissSkip(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Events& events,
              UpdateGuard guard) {
  const absl::string_view id = guard == UpdateGuard::kScaler ? "skip_not_told" : "skip_not_told/type_unknown";
  AddMissing(context, result, id, run.name,
             {{"run", run.name},
              {"step", absl::StrCat(events.first_step())},
              {"value", FormatDouble(events.value())},
              {"count", absl::StrCat(events.count())}});
}

int NanNormsMin(const CheckContext& context) {
  return static_cast<int>(context.profile.threshold("nan_norms"));
}

// The norm over all parameters. Whether it was an error.
bool ReportNorm(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Found& found,
                UpdateGuard guard) {
  const bool nothing = guard == UpdateGuard::kNothing;
  // An infinite norm is an overflow: where a scaler may be on, the overflow rate tells of it.
  const Events& events = nothing ? found.bad_norm : found.nan_norm;
  if (!events.any()) return false;
  // A scaler that tells nothing of it skips a step now and then: as many as the overflow rate may be.
  const auto steps = static_cast<double>(found.norm_steps.size());
  const bool many = events.count() >= NanNormsMin(context) &&
                    static_cast<double>(events.count()) > context.profile.threshold("overflow_rate") * steps;
  const bool error = nothing || found.nan_applied.any() || many;
  Report(context, result, error ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, "nan_grad_norm", run, events, found.ranks);
  if (!error) MissSkip(context, result, run, events, guard);
  return error;
}

// The parts that are no number, one finding each; those whose whole was told already are left out. Fewer than
// `errors_from` of one name are a warning. Whether any was an error.
bool ReportFigures(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                   const std::map<std::string, Events>& figures, absl::string_view id, const Events& whole,
                   const std::set<int>& ranks, int errors_from = 1, UpdateGuard guard = UpdateGuard::kUnknown) {
  constexpr int kNamesMax = 10;
  int told = 0;
  bool any = false;
  for (const auto& [name, events] : figures) {
    const bool in_whole = std::all_of(events.values.begin(), events.values.end(),
                                      [&](const auto& one) { return whole.values.contains(one.first); });
    if (in_whole || told >= kNamesMax) continue;
    const bool few = events.count() < errors_from;
    const bool alike = AlikeOnTheOtherSide(context, run, name, events);
    ++told;
    if (few && !alike) MissSkip(context, result, run, events, guard);
    any = any || !(few || alike);
    const v1::Severity severity = few || alike ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR;
    Report(context, result, severity, alike ? "nan_on_both_sides" : id, run, events, ranks, name);
  }
  return any;
}

// Gradient norms, the whole and those of parts. Whether any was an error.
bool ReportNorms(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Found& found,
                 GuardOfRun guard_of) {
  if (!found.bad_norm.any() && found.norms.empty() && found.infinite.empty()) return false;
  const UpdateGuard guard = guard_of(context, run);
  const bool nothing = guard == UpdateGuard::kNothing;
  bool any = ReportNorm(context, result, run, found, guard);
  any = ReportFigures(context, result, run, found.norms, "nan_grad_norm/named", found.bad_norm, found.ranks,
                      nothing ? 1 : NanNormsMin(context), guard) ||
        any;
  if (nothing) {
    any =
        ReportFigures(context, result, run, found.infinite, "nan_grad_norm/named", found.bad_norm, found.ranks) || any;
  }
  return any;
}

// Steps that gave no number and were done again after a restart: in one file only a note tells of them.
bool ReportRolledBack(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  bool any = false;
  for (const LogSource& source : run.logs) {
    for (const v1::Note& note : source.log().notes()) {
      if (note.kind() != "loss_rolled_back") continue;
      any = true;
      AddError(context, result, "nan_loss/rolled_back", run.name, {{"run", run.name}, {"what", note.message()}})
          .add_evidence(Where(source, note.line()));
    }
  }
  return any;
}

Found FindIn(const CheckContext& context, const RunSeries& run) {
  const ZeroLimits zero = ZeroLimitsOf(context.profile);
  Found found;
  for (const LogSource& source : run.logs) {
    std::map<std::pair<std::string, int>, Walker> walkers;
    for (const v1::StepRecord& record : source.log().records()) {
      const int rank = record.has_rank() ? record.rank() : source.evidence->has_rank() ? source.evidence->rank() : -1;
      walkers.try_emplace({record.engine(), rank}, source, rank, zero, found).first->second.Next(record);
    }
    for (auto& [key, walker] : walkers) walker.End();
  }
  return found;
}

}  // namespace

namespace {

// A training that stops itself because its loss is no number (MindSpore's LossMonitor, TensorFlow's NanTensorHook):
// that step's loss is not printed.
bool StopsForNan(const RunSeries& run) {
  if (run.ending.state != v1::RunEnd::STATE_ABORTED) return false;
  const std::string words = absl::AsciiStrToLower(run.ending.words);
  for (const absl::string_view one :
       {"invalid loss", "nan loss", "loss is nan", "loss = nan", "loss: nan", "non-finite loss", "nonfinite loss"}) {
    if (absl::StrContains(words, one)) return true;
  }
  return false;
}

}  // namespace

NonFinite FindNonFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                        GuardOfRun guard_of) {
  const Found found = FindIn(context, run);
  const auto error = v1::SEVERITY_ERROR;
  Report(context, result, error, "nan_loss", run, found.nan_loss, found.ranks);
  const bool stops = !found.nan_loss.any() && StopsForNan(run);
  if (stops) {
    v1::Finding& finding = AddError(
        context, result, "nan_loss/stops", run.name,
        {{"run", run.name}, {"step", absl::StrCat(run.ending.last_step.value_or(0))}, {"words", run.ending.words}});
    SetFact(finding, "step", run.ending.last_step.value_or(0));
    SetFact(finding, "run", run.name);
    if (!run.ending.where.empty()) finding.add_evidence(run.ending.where);
  }
  Report(context, result, error, "nan_suspected", run, found.zeros, found.ranks);
  Report(context, result, error, "loss_missing", run, found.missing, found.ranks);
  const bool norms = ReportNorms(context, result, run, found, guard_of);
  const bool terms = ReportFigures(context, result, run, found.terms, "nan_loss/term", found.nan_loss, found.ranks);
  Report(context, result, error, "nan_loss/validation", run, found.nan_eval, found.ranks);
  const bool evaluated =
      ReportFigures(context, result, run, found.evaluated, "nan_loss/validation_term", found.nan_eval, found.ranks);
  Report(context, result, error, "nan_loss/accuracy", run, found.nan_accuracy, found.ranks);
  const bool rolled_back = ReportRolledBack(context, result, run);
  return {stops || found.nan_loss.any() || rolled_back || found.zeros.any() || found.missing.any() || norms || terms,
          found.nan_eval.any() || found.nan_accuracy.any() || evaluated};
}

}  // namespace paritect
