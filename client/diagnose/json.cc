#include "client/diagnose/json.h"

#include <nlohmann/json.hpp>

#include "checks/causes.h"
#include "report/view.h"

namespace paritect {
namespace {

OrderedJson TextsToJson(const v1::Text& text) {
  return {{"en", text.en()}, {"zh", text.zh()}};
}

OrderedJson StepToJson(const StepAnswer& step) {
  OrderedJson json;
  json["id"] = step.step->id;
  json["title"] = TextsToJson(step.step->title);
  json["verdict"] = VerdictWord(step.verdict);
  json["waits"] = step.waits;
  if (!step.step->stage.empty()) json["stage"] = step.step->stage;
  json["checks"] = OrderedJson::array();
  for (const v1::CheckResult* check : step.checks) {
    OrderedJson one = {{"id", check->id()}, {"verdict", VerdictWord(check->verdict())}};
    one["findings"] = OrderedJson::array();
    for (const v1::Finding& finding : check->findings()) {
      if (finding.severity() != v1::SEVERITY_NOTE) one["findings"].push_back(FindingToJson(finding));
    }
    one["missing"] = CheckToJson(*check)["missing"];
    json["checks"].push_back(std::move(one));
  }
  for (const std::string& id : step.absent) json["checks"].push_back({{"id", id}, {"verdict", "not_performed"}});
  json["next"] = OrderedJson::array();
  for (const v1::Text& next : step.step->next) json["next"].push_back(TextsToJson(next));
  return json;
}

// The causes in order of work, each with what to do and when it is done.
OrderedJson NextSteps(const v1::Report& report, const Rules& rules) {
  OrderedJson steps = CausesToJson(report);
  const std::vector<Cause> causes = CausesOf(BuiltInCauses(), report);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    steps[i]["do"] = TextsToJson(causes[i].findings[0]->remedy());
    const CatalogueCheck* const known = rules.catalogue.FindCheck(causes[i].check->id());
    if (known != nullptr) steps[i]["done_when"] = TextsToJson(known->rule);
  }
  return steps;
}

}  // namespace

OrderedJson DiagnosisToJson(const Diagnosis& diagnosis, const v1::Report& report, const Rules& rules) {
  OrderedJson json;
  json["schema"] = "paritect.diagnosis/1";
  json["scenario"] = nullptr;
  if (diagnosis.scenario.has_value()) json["scenario"] = *diagnosis.scenario;
  json["title"] = TextsToJson(rules.messages.Say(ScenarioMessage(diagnosis)));
  json["decided_by"] = nullptr;
  if (diagnosis.decided_by != nullptr) json["decided_by"] = CheckToJson(*diagnosis.decided_by);
  json["failed"] = diagnosis.failed();
  json["causes"] = NextSteps(report, rules);
  json["next"] = nullptr;
  if (diagnosis.next.has_value()) {
    const StageAnswer& stage = diagnosis.stages[diagnosis.next->stage];
    json["next"] = {{"stage", stage.stage->id}, {"step", stage.steps[diagnosis.next->step].step->id}};
  }
  json["exhausted"] = diagnosis.exhausted;
  json["stages"] = OrderedJson::array();
  for (const StageAnswer& stage : diagnosis.stages) {
    OrderedJson one = {{"id", stage.stage->id},
                       {"title", TextsToJson(stage.stage->title)},
                       {"verdict", VerdictWord(stage.verdict)},
                       {"steps", OrderedJson::array()}};
    for (const StepAnswer& step : stage.steps) one["steps"].push_back(StepToJson(step));
    json["stages"].push_back(std::move(one));
  }
  json["failed_elsewhere"] = FailedElsewhere(diagnosis, report);
  return json;
}

}  // namespace paritect
