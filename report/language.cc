#include "report/language.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "rules/phrases.h"

namespace paritect {
namespace {

std::string FirstSet(std::string (*getenv)(absl::string_view), absl::Span<const absl::string_view> names) {
  for (absl::string_view name : names) {
    std::string value = getenv(name);
    if (!value.empty()) return value;
  }
  return "";
}

}  // namespace

Language LanguageFromEnvironment(std::string (*getenv)(absl::string_view)) {
  const std::string locale = absl::AsciiStrToLower(FirstSet(getenv, {"LC_ALL", "LC_MESSAGES", "LANG"}));
  return absl::StartsWith(locale, "zh") ? Language::kChinese : Language::kEnglish;
}

bool LocaleIsUtf8(std::string (*getenv)(absl::string_view)) {
  const std::string locale = absl::AsciiStrToLower(FirstSet(getenv, {"LC_ALL", "LC_CTYPE", "LANG"}));
  return absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
}

absl::StatusOr<std::vector<Language>> ChooseLanguages(absl::string_view option,
                                                      std::string (*getenv)(absl::string_view)) {
  if (option.empty()) return std::vector<Language>{LanguageFromEnvironment(getenv)};
  std::vector<Language> languages;
  for (absl::string_view written : absl::StrSplit(option, ',')) {
    // As locales are written, too: zh_CN, zh-CN.UTF-8, en_US.
    const std::string word = absl::AsciiStrToLower(written.substr(0, written.find_first_of("_-.@")));
    const Language language = word == "zh" ? Language::kChinese : Language::kEnglish;
    const bool known = word == "en" || word == "zh";
    if (!known || (!languages.empty() && languages[0] == language) || languages.size() == 2) {
      return absl::InvalidArgumentError(absl::StrCat("--lang ", option, ": must be en, zh, en,zh or zh,en"));
    }
    languages.push_back(language);
  }
  return languages;
}

const std::string& In(Language language, const v1::Text& text) {
  return language == Language::kChinese && !text.zh().empty() ? text.zh() : text.en();
}

std::string InAll(absl::Span<const Language> languages, const v1::Text& text, absl::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < languages.size(); ++i) {
    const std::string& one = In(languages[i], text);
    if (i == 0) {
      out = one;
    } else if (one != out) {
      absl::StrAppend(&out, separator, one);
    }
  }
  return out;
}

std::string ValueIn(Language language, absl::string_view value) {
  return language == Language::kChinese ? BuiltInValuePhrases().InChinese(value) : std::string(value);
}

absl::string_view Colon(Language language) {
  return language == Language::kChinese ? "：" : ": ";
}

absl::string_view LabelColon(Language language) {
  return absl::StripTrailingAsciiWhitespace(Colon(language));
}

absl::string_view ListSeparator(Language language) {
  return language == Language::kChinese ? "；" : "; ";
}

}  // namespace paritect
