// Words by which people say that something is of an evaluation. Data and sources: rules/data/evaluation_words.yaml.
#ifndef PARITECT_RULES_EVALUATION_WORDS_H_
#define PARITECT_RULES_EVALUATION_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// All in lower case.
struct EvaluationWords {
  std::vector<std::string> splits;           // of a data set, and what is measured on it
  std::vector<std::string> splits_of_data;   // ... and what is one where a split can be meant alone
  std::vector<std::string> acts;             // what a line or a row says that is done
  std::vector<std::string> signs;            // in Chinese
  std::vector<std::string> row_fields;       // fields that say of what the row is
  std::vector<std::string> code_beginnings;  // of words in names of functions and variables
};

// InvalidArgument "LINE:COLUMN: ..." for an unknown key, or a value that is no list of lower-case texts.
absl::StatusOr<EvaluationWords> ReadEvaluationWords(const DocumentNode& root);

// The embedded ones, loaded once.
const EvaluationWords& BuiltInEvaluationWords();

// Whether a word in lower case is a split of evaluation: "val", "dev".
bool IsEvaluationSplit(absl::string_view word);

// Whether a word in lower case says of what a line or a row is: "val", "evaluating". Not "dev", no Chinese.
bool TellsOfEvaluation(absl::string_view word);

// "val", "imagenet_valid", "test2017", "ValData": a whole word of a data set's or folder's name is such a split.
bool NamesEvaluationSet(absl::string_view name);

// As people name what evaluates in code: "validate", "test_step", "valLoader", "evaluator".
bool NamesEvaluationCode(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_RULES_EVALUATION_WORDS_H_
