#include "rules/argument_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

const std::set<std::string>& BuiltInWords() {
  static const std::set<std::string>* const words = [] {
    auto* const result = new std::set<std::string>();
    // LoadRules has refused a file that is not of its form.
    auto root = ReadRulesDocument(BytesOfRules("argument_words.yaml"));
    if (root.ok()) *result = ReadArgumentWords(*root).value_or(std::set<std::string>());
    return result;
  }();
  return *words;
}

}  // namespace

absl::StatusOr<std::set<std::string>> ReadArgumentWords(const DocumentNode& root) {
  const DocumentNode* list = root.Find("argument_words");
  if (list == nullptr || !list->is_list() || root.fields.size() != 1) {
    return ErrorAt(root, "`argument_words` must be a list of words");
  }
  std::set<std::string> words;
  for (const DocumentNode& word : list->items) words.insert(absl::AsciiStrToLower(word.text));
  return words;
}

bool SpeaksOfNumbers(absl::string_view argument) {
  const std::string lower = absl::AsciiStrToLower(argument);
  for (absl::string_view word : absl::StrSplit(lower, absl::ByAnyChar("_.-"), absl::SkipEmpty())) {
    if (BuiltInWords().contains(std::string(word))) return true;
  }
  return false;
}

}  // namespace paritect
