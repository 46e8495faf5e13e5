// A collection plan as the text that ParsePlan (formats/plan.h) reads back: for people, with comments.
#ifndef PARITECT_FORMATS_PLAN_TEXT_H_
#define PARITECT_FORMATS_PLAN_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

// In double quotes, with what YAML or a terminal would obey escaped. UTF-8 only.
std::string YamlQuoted(absl::string_view text);
// `["a", "b"]` of such texts; what is not UTF-8 is left out.
std::string YamlList(const google::protobuf::RepeatedPtrField<std::string>& texts);

// Remarks, one line each, without "#".
struct PlanRemarks {
  std::vector<std::string> head;
  std::map<std::string, std::string> of_source;  // behind a source, by its path
  std::vector<std::string> end;
};

// Sources in the order of the plan. A path that is not UTF-8 cannot stand in YAML: it becomes a remark that says so.
std::string PlanToText(const v1::Plan& plan, const PlanRemarks& remarks);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PLAN_TEXT_H_
