// Words about training scripts that belong to no single function: how projects call their own modules, and which steps
// of input pipelines mean the same in several frameworks. Data and sources: rules/data/script_words.yaml.
#ifndef PARITECT_RULES_SCRIPT_WORDS_H_
#define PARITECT_RULES_SCRIPT_WORDS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// An argument of a step: "probability", under the names that the frameworks give it.
struct StepArgument {
  std::string meaning;
  std::vector<std::string> names;
  std::optional<double> fallback;  // where it is not stated, in every framework
};

// "horizontal flip": RandomHorizontalFlip, random_flip_left_right.
struct PipelineStep {
  std::string meaning;             // "": only another form of the same sample
  std::vector<std::string> names;  // the last part of the function's name
  std::vector<StepArgument> arguments;
};

// Facts of one kind that the code of both sides has to have alike.
struct ComparedFacts {
  std::string check;  // that they are about
  std::string kind;
  std::vector<std::string> arguments;    // that count; empty: all but those passed over
  std::vector<std::string> passed_over;  // that hold data, or change no number
  std::map<std::string, std::vector<std::string>> across;  // meaning, arguments of that meaning in any framework
  bool by_value = false;  // another value is no fault of repeats: they have seeds of their own
};

struct ScriptWords {
  std::set<std::string, std::less<>> own_modules;
  std::vector<PipelineStep> steps;
  std::vector<ComparedFacts> compared;
  std::vector<ComparedFacts> made;           // what a training has one of: its optimizer, its schedule
  std::set<std::string, std::less<>> told;   // kinds of facts that say all that a call does
  std::set<std::string, std::less<>> moves;  // methods that give the same numbers
  std::map<std::string, std::string, std::less<>> devices;  // words of a device, and those that stand for the same
  std::set<std::string, std::less<>> libraries;  // first parts of imports whose calls are known to be the same
  std::set<std::string, std::less<>> rate;   // parts of names that are about a learning rate: "warmup"
  std::set<std::string, std::less<>> shows;  // functions that change no number: "print", "logger.*", "*.add_scalar"

  // The step of a function's name without its package; nullptr.
  const PipelineStep* StepOf(absl::string_view name) const;
  // What a training has one of, by kind; without a rule nothing is passed over.
  ComparedFacts MadeOf(absl::string_view kind) const;
};

// InvalidArgument "LINE:COLUMN: ..." for an unknown key, or a value of another form.
absl::StatusOr<ScriptWords> ReadScriptWords(const DocumentNode& root);

// The embedded ones, loaded once.
const ScriptWords& BuiltInScriptWords();

}  // namespace paritect

#endif  // PARITECT_RULES_SCRIPT_WORDS_H_
