#include "rules/walk.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/read_text.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

using absl::StrCat;

absl::Status ReadStep(const DocumentNode& node, WalkStep& step) {
  if (!node.is_map()) return ErrorAt(node, "a step must be a map");
  for (const auto& [key, value] : node.fields) {
    if (key.text == "id") {
      step.id = value.text;
    } else if (key.text == "title") {
      PARITECT_RETURN_IF_ERROR(ReadBothLanguages(value, step.title));
    } else if (key.text == "stage") {
      step.stage = value.text;
    } else if (key.text == "after") {
      step.after = value.text;
    } else if (key.text == "checks" && value.is_list()) {
      for (const DocumentNode& check : value.items) step.checks.push_back(check.text);
    } else if (key.text == "next" && value.is_list()) {
      for (const DocumentNode& one : value.items)
        PARITECT_RETURN_IF_ERROR(ReadBothLanguages(one, step.next.emplace_back()));
    } else {
      return ErrorAt(key, StrCat("unknown or wrong key '", key.text, "' in a step"));
    }
  }
  if (step.id.empty() || step.title.en().empty() || step.checks.empty() == step.stage.empty()) {
    return ErrorAt(node, "a step needs `id`, `title` and either `checks` or `stage`");
  }
  return absl::OkStatus();
}

absl::Status ReadStage(const DocumentNode& node, WalkStage& stage) {
  if (!node.is_map()) return ErrorAt(node, "a stage must be a map");
  for (const auto& [key, value] : node.fields) {
    if (key.text == "id") {
      stage.id = value.text;
    } else if (key.text == "title") {
      PARITECT_RETURN_IF_ERROR(ReadBothLanguages(value, stage.title));
    } else if (key.text == "scenario") {
      if (!absl::SimpleAtoi(value.text, &stage.scenario)) return ErrorAt(value, "`scenario` must be a number");
    } else if (key.text == "steps" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(ReadStep(one, stage.steps.emplace_back()));
    } else {
      return ErrorAt(key, StrCat("unknown or wrong key '", key.text, "' in a stage"));
    }
  }
  if (stage.id.empty() || stage.title.en().empty() || stage.steps.empty()) {
    return ErrorAt(node, "a stage needs `id`, `title` and `steps`");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Walk> ReadWalk(const DocumentNode& root) {
  const DocumentNode* list = root.Find("walk");
  if (list == nullptr || !list->is_list() || root.fields.size() != 1) return ErrorAt(root, "`walk` must be a list");
  Walk walk;
  for (const DocumentNode& one : list->items) {
    WalkStage stage;
    PARITECT_RETURN_IF_ERROR(ReadStage(one, stage));
    for (const WalkStage& other : walk) {
      if (other.id == stage.id) return ErrorAt(one, StrCat("stage '", stage.id, "' stands twice"));
    }
    walk.push_back(std::move(stage));
  }
  return walk;
}

const Walk& BuiltInWalk() {
  static const Walk* const walk = [] {
    auto* const result = new Walk();
    // LoadRules has refused a file that is not of its form.
    auto root = ReadRulesDocument(BytesOfRules("walk.yaml"));
    if (root.ok()) *result = ReadWalk(*root).value_or(Walk());
    return result;
  }();
  return *walk;
}

}  // namespace paritect
