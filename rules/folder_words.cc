#include "rules/folder_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "rules/built_in.h"
#include "rules/read_text.h"

namespace paritect {
namespace {

std::vector<std::string>* ListOf(absl::string_view key, FolderWords& words) {
  const std::pair<absl::string_view, std::vector<std::string>*> lists[] = {
      {"data", &words.data},
      {"train_splits", &words.train_splits},
      {"evidence", &words.evidence},
      {"runs", &words.runs},
      {"ranks", &words.ranks},
      {"nodes", &words.nodes},
      {"steps", &words.steps},
      {"initial", &words.initial},
      {"pretrained", &words.pretrained},
      {"states", &words.states},
      {"left_out", &words.left_out},
      {"foreign_code", &words.foreign_code},
      {"perhaps_foreign_code", &words.perhaps_foreign_code},
      {"recorders", &words.recorders},
      {"measured", &words.measured},
      {"set", &words.set},
      {"training", &words.training},
      {"other_work", &words.other_work}};
  for (const auto& [name, list] : lists) {
    if (name == key) return list;
  }
  return nullptr;
}

bool IsLetter(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c));
}
bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

}  // namespace

absl::StatusOr<FolderWords> ReadFolderWords(const DocumentNode& root) {
  FolderWords words;
  for (const auto& [key, value] : root.fields) {
    std::vector<std::string>* list = ListOf(key.text, words);
    if (list == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    PARITECT_ASSIGN_OR_RETURN(*list, ReadLowerTexts(value));
  }
  return words;
}

const FolderWords& BuiltInFolderWords() {
  return BuiltInTable<&ReadFolderWords>("folder_words.yaml");
}

bool IsForeignCode(absl::string_view name) {
  if (absl::StartsWith(name, ".")) return true;
  const std::vector<std::string>& foreign = BuiltInFolderWords().foreign_code;
  return std::any_of(foreign.begin(), foreign.end(), [name](const std::string& one) {
    return absl::StartsWith(one, ".") ? absl::EndsWith(name, one) : name == one;
  });
}

bool IsWordBorder(absl::string_view name, std::size_t at) {
  if (at == 0 || at == name.size()) return true;
  const char before = name[at - 1];
  const char behind = name[at];
  if (!IsLetter(before) || !IsLetter(behind)) return true;
  return absl::ascii_islower(static_cast<unsigned char>(before)) &&
         absl::ascii_isupper(static_cast<unsigned char>(behind));
}

bool HasWord(absl::string_view name, const std::vector<std::string>& words) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const std::string& word : words) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      if (IsWordBorder(name, at) && IsWordBorder(name, at + word.size())) return true;
    }
  }
  return false;
}

std::optional<NumberInName> NumberBehind(absl::string_view name, const std::vector<std::string>& words) {
  const std::string lower = absl::AsciiStrToLower(name);
  std::optional<NumberInName> found;
  for (const std::string& word : words) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      std::size_t begin = at + word.size();
      if (begin < name.size() && absl::StrContains("-_.=", name.substr(begin, 1))) ++begin;
      std::size_t end = begin;
      while (end < name.size() && IsDigit(name[end])) ++end;
      const auto number = ParseInt(name.substr(begin, end - begin));
      if (end == begin || !number || !IsWordBorder(name, at)) continue;
      if (!found || begin > found->begin) found = NumberInName{*number, begin, end};
    }
  }
  return found;
}

}  // namespace paritect
