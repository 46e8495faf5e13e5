#include "rules/script_words.h"

#include <algorithm>
#include <map>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

absl::StatusOr<std::vector<std::string>> WordsOf(const DocumentNode& node) {
  std::vector<std::string> words;
  if (!node.is_list()) return ErrorAt(node, "a list of words is needed");
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty()) return ErrorAt(item, "a word is needed");
    words.push_back(item.text);
  }
  return words;
}

absl::StatusOr<StepArgument> ReadArgument(const std::string& meaning, const DocumentNode& node) {
  StepArgument argument;
  argument.meaning = meaning;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "names") {
      PARITECT_ASSIGN_OR_RETURN(argument.names, WordsOf(value));
    } else if (key.text == "default") {
      argument.fallback = ParseDouble(value.text);
      if (!argument.fallback) return ErrorAt(value, "a number is needed");
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    }
  }
  if (argument.names.empty()) return ErrorAt(node, "'names' is needed");
  return argument;
}

absl::StatusOr<PipelineStep> ReadStep(const DocumentNode& node) {
  PipelineStep step;
  bool sourced = false;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "step" && value.is_scalar()) {
      step.meaning = value.text;
    } else if (key.text == "names") {
      PARITECT_ASSIGN_OR_RETURN(step.names, WordsOf(value));
    } else if (key.text == "arguments" && value.is_map()) {
      for (const auto& [name, argument] : value.fields) {
        PARITECT_ASSIGN_OR_RETURN(StepArgument one, ReadArgument(name.text, argument));
        step.arguments.push_back(std::move(one));
      }
    } else if (key.text == "source" && value.is_scalar()) {
      sourced = !value.text.empty();
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "', or not its value"));
    }
  }
  if (step.names.empty() || !sourced) return ErrorAt(node, "a step needs `names` and `source`");
  return step;
}

absl::StatusOr<ComparedFacts> ReadCompared(const DocumentNode& node) {
  ComparedFacts facts;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "check" && value.is_scalar()) {
      facts.check = value.text;
    } else if (key.text == "kind" && value.is_scalar()) {
      facts.kind = value.text;
    } else if (key.text == "arguments") {
      PARITECT_ASSIGN_OR_RETURN(facts.arguments, WordsOf(value));
    } else if (key.text == "passed_over") {
      PARITECT_ASSIGN_OR_RETURN(facts.passed_over, WordsOf(value));
    } else if (key.text == "across" && value.is_map()) {
      for (const auto& [meaning, names] : value.fields) {
        PARITECT_ASSIGN_OR_RETURN(facts.across[meaning.text], WordsOf(names));
      }
    } else if (key.text == "by_value" && value.is_scalar()) {
      if (value.text != "true" && value.text != "false") return ErrorAt(value, "true or false is needed");
      facts.by_value = value.text == "true";
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "', or not its value"));
    }
  }
  if (facts.check.empty() || facts.kind.empty()) return ErrorAt(node, "compared facts need `check` and `kind`");
  return facts;
}

absl::StatusOr<ScriptWords> ReadEmbedded() {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ReadRulesDocument(BytesOfRules("script_words.yaml")));
  return ReadScriptWords(root);
}

}  // namespace

const PipelineStep* ScriptWords::StepOf(absl::string_view name) const {
  for (const PipelineStep& step : steps) {
    if (std::find(step.names.begin(), step.names.end(), name) != step.names.end()) return &step;
  }
  return nullptr;
}

ComparedFacts ScriptWords::MadeOf(absl::string_view kind) const {
  const auto found = std::find_if(made.begin(), made.end(), [&](const ComparedFacts& one) { return one.kind == kind; });
  if (found != made.end()) return *found;
  ComparedFacts plain;
  plain.kind = std::string(kind);
  return plain;
}

absl::StatusOr<ScriptWords> ReadScriptWords(const DocumentNode& root) {
  ScriptWords words;
  const std::map<std::string, std::set<std::string, std::less<>>*> sets = {
      {"own_modules", &words.own_modules}, {"told", &words.told}, {"moves", &words.moves}, {"shows", &words.shows},
      {"libraries", &words.libraries},     {"rate", &words.rate}};
  for (const auto& [key, value] : root.fields) {
    const auto set = sets.find(key.text);
    if (set != sets.end()) {
      PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> list, WordsOf(value));
      set->second->insert(list.begin(), list.end());
    } else if (key.text == "devices" && value.is_map()) {
      for (const auto& [word, same] : value.fields) {
        if (!same.is_scalar() || same.text.empty()) return ErrorAt(same, "a word is needed");
        words.devices[word.text] = same.text;
      }
    } else if (key.text == "steps" && value.is_list()) {
      for (const DocumentNode& node : value.items) {
        PARITECT_ASSIGN_OR_RETURN(PipelineStep step, ReadStep(node));
        words.steps.push_back(std::move(step));
      }
    } else if ((key.text == "compared" || key.text == "made") && value.is_list()) {
      for (const DocumentNode& node : value.items) {
        PARITECT_ASSIGN_OR_RETURN(ComparedFacts facts, ReadCompared(node));
        (key.text == "made" ? words.made : words.compared).push_back(std::move(facts));
      }
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "', or not its value"));
    }
  }
  return words;
}

const ScriptWords& BuiltInScriptWords() {
  static const ScriptWords* const words = [] {
    auto loaded = ReadEmbedded();
    if (!loaded.ok()) {
      ABSL_RAW_LOG(FATAL, "built-in rules do not load: %s", std::string(loaded.status().message()).c_str());
    }
    return new ScriptWords(*std::move(loaded));
  }();
  return *words;
}

}  // namespace paritect
