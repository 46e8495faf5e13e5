// The walk of the second source document over a report: which scenario, each step answered by checks, where to go on.
//
// Pure: the walk (rules/walk.h) and a report in, a diagnosis out; whoever has a report can ask.
#ifndef PARITECT_CHECKS_EXPLAINING_DIAGNOSIS_H_
#define PARITECT_CHECKS_EXPLAINING_DIAGNOSIS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/report.pb.h"
#include "rules/walk.h"

namespace paritect {

struct StepAnswer {
  const WalkStep* step = nullptr;
  v1::Verdict verdict = v1::VERDICT_NOT_PERFORMED;  // fail > not performed > pass over its checks
  std::vector<const v1::CheckResult*> checks;       // those in the report, in the step's order
  std::vector<std::string> absent;                  // ids that the report does not hold
  bool waits = false;                               // the step before it failed: its answer tells nothing yet
};

struct StageAnswer {
  const WalkStage* stage = nullptr;
  v1::Verdict verdict = v1::VERDICT_NOT_PERFORMED;
  std::vector<StepAnswer> steps;
};

struct Diagnosis {
  // 0: converges and the curves agree; 1, 2, 3; nullopt: not decided.
  std::optional<int> scenario;
  const v1::CheckResult* decided_by = nullptr;  // convergence.scenario; nullptr where the report has none
  std::vector<StageAnswer> stages;              // of every training, and those of the scenario (all where undecided)
  // Where to go on: indices of the first step that fails; with a scenario and no failure, of its first step that was
  // not performed; else of the first one that was not performed. nullopt: every step passes.
  struct Place {
    std::size_t stage = 0;
    std::size_t step = 0;
  };
  std::optional<Place> next;
  // Every step of the decided scenario passes and the symptom is there all the same: what the walk can tell is told.
  bool exhausted = false;

  bool failed() const;
};

// Borrows from both.
Diagnosis Diagnose(const Walk& walk, const v1::Report& report);

// The message that says which scenario it is.
absl::string_view ScenarioMessage(const Diagnosis& diagnosis);

// Ids of checks of the report that fail and that no step of the shown stages asks.
std::vector<std::string> FailedElsewhere(const Diagnosis& diagnosis, const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_CHECKS_EXPLAINING_DIAGNOSIS_H_
