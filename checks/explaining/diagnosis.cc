#include "checks/explaining/diagnosis.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"

namespace paritect {
namespace {

constexpr absl::string_view kScenarioCheck = "convergence.scenario";

using ChecksById = std::map<std::string, const v1::CheckResult*>;

ChecksById IndexOf(const v1::Report& report) {
  ChecksById checks;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) checks[check.id()] = &check;
  }
  return checks;
}

// The worse of two answers: a failure counts most, then what was not looked at.
v1::Verdict Worse(v1::Verdict a, v1::Verdict b) {
  for (const v1::Verdict verdict : {v1::VERDICT_FAIL, v1::VERDICT_NOT_PERFORMED}) {
    if (a == verdict || b == verdict) return verdict;
  }
  return v1::VERDICT_PASS;
}

std::optional<int> ScenarioOf(const v1::CheckResult* check) {
  if (check == nullptr) return std::nullopt;
  std::optional<int> scenario;
  for (const v1::Finding& finding : check->findings()) {
    if (finding.severity() != v1::SEVERITY_ERROR || finding.has_waived()) continue;
    const auto fact = finding.facts().fields().find("scenario");
    // NaN and the like carry no number: such a loss does not converge.
    const int one = fact == finding.facts().fields().end() ? 1 : static_cast<int>(fact->second.number_value());
    scenario = std::min(scenario.value_or(one), one);
  }
  if (scenario.has_value()) return scenario;
  return check->verdict() == v1::VERDICT_PASS ? std::optional<int>(0) : std::nullopt;
}

StepAnswer AnswerStep(const WalkStep& step, const ChecksById& checks, const std::vector<StageAnswer>& before) {
  StepAnswer answer;
  answer.step = &step;
  answer.verdict = v1::VERDICT_PASS;
  for (const StageAnswer& stage : before) {
    if (!step.stage.empty() && stage.stage->id == step.stage) answer.verdict = stage.verdict;
  }
  for (const std::string& id : step.checks) {
    auto found = checks.find(id);
    if (found == checks.end()) {
      answer.absent.push_back(id);
      answer.verdict = Worse(answer.verdict, v1::VERDICT_NOT_PERFORMED);
    } else {
      answer.checks.push_back(found->second);
      answer.verdict = Worse(answer.verdict, found->second->verdict());
    }
  }
  return answer;
}

StageAnswer AnswerStage(const WalkStage& stage, const ChecksById& checks, const std::vector<StageAnswer>& before) {
  StageAnswer answer;
  answer.stage = &stage;
  answer.verdict = v1::VERDICT_PASS;
  for (const WalkStep& step : stage.steps) {
    StepAnswer one = AnswerStep(step, checks, before);
    for (const StepAnswer& earlier : answer.steps) {
      if (!step.after.empty() && earlier.step->id == step.after) {
        one.waits = earlier.waits || earlier.verdict != v1::VERDICT_PASS;
      }
    }
    answer.verdict = Worse(answer.verdict, one.verdict);
    answer.steps.push_back(std::move(one));
  }
  return answer;
}

// The first step with that answer; a step that another stage answers leads there, unless it is all there is.
std::optional<Diagnosis::Place> FirstWith(const Diagnosis& diagnosis, v1::Verdict verdict, bool of_scenario_only) {
  for (std::size_t i = 0; i < diagnosis.stages.size(); ++i) {
    const StageAnswer& stage = diagnosis.stages[i];
    if (of_scenario_only && stage.stage->scenario == 0) continue;
    for (std::size_t j = 0; j < stage.steps.size(); ++j) {
      if (stage.steps[j].verdict == verdict && !stage.steps[j].waits) return Diagnosis::Place{i, j};
    }
  }
  return std::nullopt;
}

}  // namespace

bool Diagnosis::failed() const {
  if (scenario.value_or(0) > 0) return true;
  return std::any_of(stages.begin(), stages.end(), [](const StageAnswer& stage) {
    return stage.stage->scenario == 0 && stage.verdict == v1::VERDICT_FAIL;
  });
}

Diagnosis Diagnose(const Walk& walk, const v1::Report& report) {
  const ChecksById checks = IndexOf(report);
  Diagnosis diagnosis;
  if (auto found = checks.find(std::string(kScenarioCheck)); found != checks.end())
    diagnosis.decided_by = found->second;
  diagnosis.scenario = ScenarioOf(diagnosis.decided_by);
  for (const WalkStage& stage : walk) {
    if (stage.scenario != 0 && diagnosis.scenario.has_value() && *diagnosis.scenario != stage.scenario) continue;
    diagnosis.stages.push_back(AnswerStage(stage, checks, diagnosis.stages));
  }
  diagnosis.next = FirstWith(diagnosis, v1::VERDICT_FAIL, false);
  const bool symptom = diagnosis.scenario.value_or(0) > 0;
  if (!diagnosis.next.has_value() && symptom) {
    diagnosis.next = FirstWith(diagnosis, v1::VERDICT_NOT_PERFORMED, true);
    diagnosis.exhausted = !diagnosis.next.has_value();
  }
  if (!diagnosis.next.has_value()) diagnosis.next = FirstWith(diagnosis, v1::VERDICT_NOT_PERFORMED, false);
  return diagnosis;
}

absl::string_view ScenarioMessage(const Diagnosis& diagnosis) {
  if (!diagnosis.scenario.has_value()) return "diagnose_undecided";
  switch (*diagnosis.scenario) {
    case 0: return "diagnose_none";
    case 1: return "diagnose_scenario_1";
    case 2: return "diagnose_scenario_2";
    default: return "diagnose_scenario_3";
  }
}

std::vector<std::string> FailedElsewhere(const Diagnosis& diagnosis, const v1::Report& report) {
  std::set<std::string> asked;
  for (const StageAnswer& stage : diagnosis.stages) {
    for (const StepAnswer& step : stage.steps) {
      for (const v1::CheckResult* check : step.checks) asked.insert(check->id());
    }
  }
  std::vector<std::string> failed;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.verdict() == v1::VERDICT_FAIL && !asked.contains(check.id())) failed.push_back(check.id());
    }
  }
  return failed;
}

}  // namespace paritect
