#include "checks/observed/conduct.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rules/contradictions.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Phase {
  std::string scope, origin, other;
  bool training = false, grad = false;
  // Dropouts and batch normalisations in training mode; nullopt: not told.
  std::optional<std::int64_t> active;
  std::int64_t forwards = 0, rows = 0, at = 0, updates = 0;  // updates: made before the next one

  bool of_evaluation() const { return !grad && forwards > 0; }
};

std::vector<Phase> PhasesOf(const ObservedRank& rank) {
  std::vector<Phase> phases;
  for (const std::string& scope : rank.ScopesOf("phase.training")) {
    Phase phase;
    phase.scope = scope;
    phase.origin = rank.Find("phase.training", scope)->origin;
    phase.training = rank.Is("phase.training", scope);
    phase.grad = rank.Is("phase.grad", scope);
    phase.active = rank.Count("phase.active", scope);
    if (const ObservedFact* other = rank.Find("phase.other", scope)) phase.other = other->value;
    phase.forwards = rank.Count("phase.forwards", scope).value_or(0);
    phase.rows = rank.Count("phase.rows", scope).value_or(0);
    phase.at = rank.Count("phase.at", scope).value_or(0);
    if (!phases.empty()) phases.back().updates = phase.at - phases.back().at;
    phases.push_back(std::move(phase));
  }
  if (!phases.empty()) phases.back().updates = rank.Count("steps").value_or(0) - phases.back().at;
  return phases;
}

class Modes {
 public:
  Modes(const CheckContext& context, v1::CheckResult& result, Side side, const std::string& run)
      : context_(context), result_(result), side_(side), run_(run) {}

  // True: forwards of evaluation were seen.
  bool Rank(const ObservedRank& rank) {
    bool evaluated = false, active_before = false;
    for (const Phase& phase : PhasesOf(rank)) {
      evaluated = evaluated || phase.of_evaluation();
      // Where neither dropout nor batch statistics are, the mode changes nothing.
      const bool active = phase.active.value_or(0) > 0;
      if (phase.of_evaluation() && active) {
        const bool all = phase.training && phase.other.empty();
        Report(all ? "train_mode_at_eval/observed" : "train_mode_at_eval/modules", phase, rank);
      } else if (phase.grad && phase.updates > 0 && active_before && phase.active == 0) {
        Report("eval_mode_at_train/observed", phase, rank);
      }
      // Statistics that are frozen from the start are meant so.
      active_before = active_before || (phase.grad && active);
    }
    return evaluated;
  }

 private:
  void Report(absl::string_view id, const Phase& phase, const ObservedRank& rank) {
    const absl::string_view kind = id.substr(0, id.find('/'));
    for (const v1::Finding& told : result_.findings()) {
      if (told.kind() == kind && told.subject() == run_) return;  // once a run: ranks and epochs repeat it
    }
    v1::Finding& finding = AddError(context_, result_, id, run_,
                                    {{"run", run_},
                                     {"where", rank.where},
                                     {"forwards", StrCat(phase.forwards)},
                                     {"rows", StrCat(phase.rows)},
                                     {"at", StrCat(phase.at)},
                                     {"updates", StrCat(phase.updates)},
                                     {"modules", phase.other}});
    (side_ == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) =
        StrCat(phase.training ? "train" : "eval", ", grad ", phase.grad ? "on" : "off", ": ", phase.forwards);
    SetFact(finding, "forwards", phase.forwards);
    SetFact(finding, "updates_before", phase.at);
    finding.add_evidence(phase.origin);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const Side side_;
  const std::string& run_;
};

// Whether any update was made with dropout or batch statistics at work; nullopt: no update of a phase that tells it.
std::optional<bool> TrainsActive(const ObservedRun& run, std::string& origin) {
  std::optional<bool> active;
  for (const ObservedRank& rank : run.ranks()) {
    for (const Phase& phase : PhasesOf(rank)) {
      if (!phase.grad || phase.updates <= 0 || !phase.active) continue;
      active = active.value_or(false) || *phase.active > 0;
      if (origin.empty()) origin = phase.origin;
    }
  }
  return active;
}

// Whether the rank's record contradicts itself where an evaluation is told.
bool IsInDoubt(const ObservedRank& rank) {
  const std::vector<std::string> scopes = rank.ScopesOf("contradiction.part");
  return std::any_of(scopes.begin(), scopes.end(), [&](const std::string& scope) {
    return BuiltInContradictions().Rests("training.flow.evaluation", rank.Find("contradiction.part", scope)->value);
  });
}

std::optional<std::int64_t> RowsOf(const ObservedRun& run, std::string& origin) {
  // Each rank may evaluate a part: with one that left no record, or none that counts, the sum is of unknown many.
  if (static_cast<int>(run.ranks().size()) < run.world_size()) return std::nullopt;
  if (std::any_of(run.ranks().begin(), run.ranks().end(), &IsInDoubt)) return std::nullopt;
  std::int64_t rows = 0;
  bool any = false;
  for (const ObservedRank& rank : run.ranks()) {
    for (const Phase& phase : PhasesOf(rank)) {
      if (!phase.of_evaluation()) continue;
      rows += phase.rows;
      if (!any) origin = phase.origin;
      any = true;
      break;  // the first evaluation of each rank
    }
  }
  return any && rows > 0 ? std::optional<std::int64_t>(rows) : std::nullopt;
}

std::optional<std::int64_t> ScheduleSteps(const ObservedRun& run, const ObservedFact** fact) {
  for (const ObservedRank& rank : run.ranks()) {
    for (const ObservedFact& one : rank.facts) {
      if (one.key != "schedule.steps") continue;
      *fact = &one;
      return rank.Count(one.key, one.scope);
    }
  }
  return std::nullopt;
}

}  // namespace

bool JudgeObservedModes(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run) {
  const ObservedRun& observed = ObservedRun::Of(context, run);
  if (!observed.seen()) return false;
  Modes modes(context, result, side, run.name);
  bool evaluated = false;
  for (const ObservedRank& rank : observed.ranks()) evaluated = modes.Rank(rank) || evaluated;
  if (!observed.whole()) AddObservedGaps(context, result, observed);
  return evaluated && observed.whole();
}

void CompareObservedTrainingModes(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                                  const RunView& migrated) {
  std::string left, right;
  const auto a = TrainsActive(ObservedRun::Of(context, baseline), left);
  const auto b = TrainsActive(ObservedRun::Of(context, migrated), right);
  if (!a || !b || *a == *b) return;
  const auto word = [](bool active) { return active ? "train" : "eval"; };
  v1::Finding& finding =
      AddError(context, result, "eval_mode_at_train/side", migrated.name,
               {{"run", *a ? migrated.name : baseline.name}, {"other", *a ? baseline.name : migrated.name}});
  finding.set_baseline(word(*a));
  finding.set_migrated(word(*b));
  finding.add_evidence(left);
  finding.add_evidence(right);
}

void CompareObservedCopies(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated) {
  const ObservedRun& one = ObservedRun::Of(context, baseline);
  const ObservedRun& other = ObservedRun::Of(context, migrated);
  if (!one.seen() || !other.seen()) return;
  for (const std::string& scope : one.first().ScopesOf("copy.active")) {
    const ObservedFact* left = one.first().Find("copy.active", scope);
    const ObservedFact* right = other.first().Find("copy.active", scope);
    if (right == nullptr || (left->value == "0") == (right->value == "0")) continue;
    const bool here = left->value == "0";
    v1::Finding& finding = AddError(context, result, "train_mode_at_eval/copy", migrated.name,
                                    {{"run", here ? migrated.name : baseline.name},
                                     {"other", here ? baseline.name : migrated.name},
                                     {"layers", here ? right->value : left->value}});
    finding.set_baseline(left->value);
    finding.set_migrated(right->value);
    finding.add_evidence(left->origin);
    finding.add_evidence(right->origin);
    return;
  }
}

bool CompareObservedEvaluations(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                                const RunView& migrated) {
  std::string left, right;
  const ObservedRun& one = ObservedRun::Of(context, baseline);
  const ObservedRun& other = ObservedRun::Of(context, migrated);
  const auto a = RowsOf(one, left), b = RowsOf(other, right);
  if (!a || !b) return false;
  const MessageArgs args = {{"baseline", StrCat(*a)}, {"migrated", StrCat(*b)}, {"run", migrated.name}};
  v1::Finding& finding = *a == *b ? AddNote(context, result, "measured/evaluated_rows", migrated.name, args)
                                  : AddError(context, result, "evaluation_samples_differ", migrated.name, args);
  finding.set_baseline(StrCat(*a));
  finding.set_migrated(StrCat(*b));
  finding.add_evidence(left);
  finding.add_evidence(right);
  return true;
}

void JudgeObservedGradients(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  constexpr std::int64_t kStepsMin = 2;  // a script may mean it once
  for (const ObservedRank& rank : ObservedRun::Of(context, run).ranks()) {
    const std::int64_t kept = rank.Count("kept.steps").value_or(0);
    const std::int64_t looked = rank.Count("kept.looked").value_or(0);
    if (kept < kStepsMin) continue;
    v1::Finding& finding = AddError(context, result, "gradients_not_cleared/observed", run.name,
                                    {{"run", run.name}, {"kept", StrCat(kept)}, {"looked", StrCat(looked)}});
    SetFact(finding, "steps_kept", kept);
    SetFact(finding, "steps_looked_at", looked);
    finding.add_evidence(rank.Find("kept.steps")->origin);
    return;
  }
}

void JudgeObservedLoads(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  for (const ObservedRank& rank : ObservedRun::Of(context, run).ranks()) {
    for (const std::string& scope : rank.ScopesOf("load.given")) {
      const auto count = [&](absl::string_view key) { return rank.Count(StrCat("load.", key), scope).value_or(0); };
      const std::int64_t given = count("given"), fitting = count("fitting"), expected = count("expected");
      const bool failed = rank.Find("load.failed", scope) != nullptr;
      // A whole one says nothing; one that failed stopped the program, or was tried again.
      if (failed || given == 0 || expected == 0 || (count("missing") == 0 && count("unexpected") == 0)) continue;
      const ObservedFact* where = rank.Find("load.where", scope);
      const bool nothing = fitting == 0;
      v1::Finding& finding = AddFinding(context, result, nothing ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING,
                                        nothing ? "not_loaded/observed" : "partly_loaded/observed", run.name,
                                        {{"run", run.name},
                                         {"given", StrCat(given)},
                                         {"expected", StrCat(expected)},
                                         {"fitting", StrCat(fitting)},
                                         {"where", where == nullptr ? "" : where->value}});
      SetFact(finding, "fitting", fitting);
      SetFact(finding, "expected", expected);
      finding.add_evidence(rank.Find("load.given", scope)->origin);
    }
    return;  // every rank loads the same
  }
}

bool IsOneProcess(const CheckContext& context, const RunView& run) {
  const ObservedRun& observed = ObservedRun::Of(context, run);
  return observed.seen() && observed.ranks().size() == 1 && observed.world_size() == 1;
}

bool JudgeObservedExchange(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  constexpr std::int64_t kStepsMin = 2;
  const ObservedRun& observed = ObservedRun::Of(context, run);
  if (!observed.seen()) return false;
  if (IsOneProcess(context, run)) {
    AddNote(context, result, "not_applicable", run.name, {{"why", "1 process"}})
        .add_evidence(observed.first().Find("process")->origin);
    return true;
  }
  if (observed.world_size() < 2) return false;
  for (const ObservedRank& rank : observed.ranks()) {
    const auto collectives = rank.Count("collectives");
    const std::int64_t steps = rank.Count("collectives.steps").value_or(0);
    if (collectives != 0 || steps < kStepsMin) continue;
    v1::Finding& finding = AddError(
        context, result, "gradients_not_synchronised/observed", run.name,
        {{"run", run.name}, {"where", rank.where}, {"steps", StrCat(steps)}, {"world", StrCat(observed.world_size())}});
    SetFact(finding, "steps", steps);
    finding.add_evidence(rank.Find("collectives")->origin);
    break;
  }
  return false;
}

void CompareObservedSchedules(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                              const RunView& migrated) {
  const ObservedFact *left = nullptr, *right = nullptr;
  const std::int64_t a = ScheduleSteps(ObservedRun::Of(context, baseline), &left).value_or(1);
  const std::int64_t b = ScheduleSteps(ObservedRun::Of(context, migrated), &right).value_or(1);
  const ObservedFact* fact = right != nullptr ? right : left;
  if (fact == nullptr) return;
  v1::Finding& finding =
      AddFinding(context, result, a == b ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, "schedule_faster/observed",
                 migrated.name, {{"schedule", fact->scope}, {"baseline", StrCat(a)}, {"migrated", StrCat(b)}});
  finding.set_baseline(StrCat(a));
  finding.set_migrated(StrCat(b));
  SetFact(finding, "baseline_steps_per_update", a);
  SetFact(finding, "migrated_steps_per_update", b);
  finding.add_evidence(fact->origin);
}

}  // namespace paritect
