#include "rules/evaluation_words.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/built_in.h"
#include "rules/folder_words.h"
#include "rules/read_text.h"

namespace paritect {
namespace {

std::vector<std::string>* ListOf(absl::string_view key, EvaluationWords& words) {
  const std::pair<absl::string_view, std::vector<std::string>*> lists[] = {{"splits", &words.splits},
                                                                           {"splits_of_data", &words.splits_of_data},
                                                                           {"acts", &words.acts},
                                                                           {"signs", &words.signs},
                                                                           {"row_fields", &words.row_fields},
                                                                           {"code_beginnings", &words.code_beginnings}};
  for (const auto& [name, list] : lists) {
    if (name == key) return list;
  }
  return nullptr;
}

bool Contains(const std::vector<std::string>& list, absl::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

absl::StatusOr<EvaluationWords> ReadEvaluationWords(const DocumentNode& root) {
  EvaluationWords words;
  for (const auto& [key, value] : root.fields) {
    std::vector<std::string>* list = ListOf(key.text, words);
    if (list == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    PARITECT_ASSIGN_OR_RETURN(*list, ReadLowerTexts(value));
  }
  if (words.splits.empty())
    return ErrorAt(root, "`splits` is needed: no evaluation could be told from a training without");
  return words;
}

const EvaluationWords& BuiltInEvaluationWords() {
  return BuiltInTable<&ReadEvaluationWords>("evaluation_words.yaml");
}

bool IsEvaluationSplit(absl::string_view word) {
  const EvaluationWords& words = BuiltInEvaluationWords();
  return Contains(words.splits, word) || Contains(words.splits_of_data, word);
}

bool TellsOfEvaluation(absl::string_view word) {
  const EvaluationWords& words = BuiltInEvaluationWords();
  return Contains(words.splits, word) || Contains(words.acts, word);
}

bool NamesEvaluationSet(absl::string_view name) {
  const EvaluationWords& words = BuiltInEvaluationWords();
  return HasWord(name, words.splits) || HasWord(name, words.splits_of_data);
}

bool NamesEvaluationCode(absl::string_view name) {
  if (NamesEvaluationSet(name)) return true;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!IsWordBorder(name, at)) continue;
    for (const std::string& beginning : BuiltInEvaluationWords().code_beginnings) {
      if (absl::StartsWithIgnoreCase(name.substr(at), beginning)) return true;
    }
  }
  return false;
}

}  // namespace paritect
