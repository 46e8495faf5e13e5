#include "rules/list_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr std::pair<absl::string_view, ListColumn> kColumns[] = {
    {"path", ListColumn::kPath},
    {"name", ListColumn::kName},
    {"folder", ListColumn::kFolder},
    {"url", ListColumn::kUrl},
    {"path_base64", ListColumn::kPathBase64},
    {"digest", ListColumn::kDigest},
    {"etag", ListColumn::kEtag},
    {"sha256", ListColumn::kSha256},
    {"size", ListColumn::kSize},
    {"records", ListColumn::kRecords},
    {"algorithm", ListColumn::kAlgorithm},
    {"kind", ListColumn::kKind},
};

absl::StatusOr<std::vector<std::string>> ReadTexts(const DocumentNode& node) {
  if (!node.is_list()) return ErrorAt(node, "a list is needed");
  std::vector<std::string> texts;
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty()) return ErrorAt(item, "a text is needed");
    texts.push_back(item.text);
  }
  return texts;
}

absl::Status ReadColumns(const DocumentNode& node, ListWords& words) {
  for (const auto& [key, value] : node.fields) {
    ListColumn column = ListColumn::kOther;
    for (const auto& [word, known] : kColumns) {
      if (key.text == word) column = known;
    }
    if (column == ListColumn::kOther) return ErrorAt(key, absl::StrCat("unknown column '", key.text, "'"));
    PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ReadTexts(value));
    for (const std::string& text : texts) {
      if (text != PlainListWord(text)) return ErrorAt(value, absl::StrCat("'", text, "' is not in plain form"));
      words.columns.emplace(text, column);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFrames(const DocumentNode& node, ListWords& words) {
  if (!node.is_list()) return ErrorAt(node, "a list is needed");
  for (const DocumentNode& item : node.items) {
    const DocumentNode* begins = item.Find("begins");
    const DocumentNode* ends = item.Find("ends");
    if (begins == nullptr || ends == nullptr) return ErrorAt(item, "'begins' and 'ends' are needed");
    words.frames.push_back({begins->text, ends->text});
  }
  return absl::OkStatus();
}

}  // namespace

std::string PlainListWord(absl::string_view word) {
  std::string plain = absl::AsciiStrToLower(word);
  absl::StrReplaceAll({{" ", ""},
                       {"\t", ""},
                       {"_", ""},
                       {"-", ""},
                       {":", ""},
                       {"\"", ""},
                       {"'", ""},
                       {"(", ""},
                       {")", ""},
                       {"[", ""},
                       {"]", ""},
                       {"（", ""},
                       {"）", ""},
                       {"：", ""}},
                      &plain);
  return plain;
}

ListColumn ListColumnOf(absl::string_view word) {
  const auto found = BuiltInListWords().columns.find(PlainListWord(word));
  return found == BuiltInListWords().columns.end() ? ListColumn::kOther : found->second;
}

absl::StatusOr<ListWords> ReadListWords(const DocumentNode& root) {
  ListWords words;
  for (const auto& [key, value] : root.fields) {
    if (key.text == "columns") {
      PARITECT_RETURN_IF_ERROR(ReadColumns(value, words));
    } else if (key.text == "titles") {
      PARITECT_ASSIGN_OR_RETURN(words.titles, ReadTexts(value));
    } else if (key.text == "remarks") {
      PARITECT_ASSIGN_OR_RETURN(words.remarks, ReadTexts(value));
    } else if (key.text == "more") {
      PARITECT_ASSIGN_OR_RETURN(words.more, ReadTexts(value));
    } else if (key.text == "frames") {
      PARITECT_RETURN_IF_ERROR(ReadFrames(value, words));
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    }
  }
  return words;
}

const ListWords& BuiltInListWords() {
  return BuiltInTable<&ReadListWords>("list_words.yaml");
}

}  // namespace paritect
