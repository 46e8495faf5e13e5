#include "client/localise.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "re2/re2.h"
#include "rules/phrases.h"

namespace paritect {
namespace {

// "  -o,--output TEXT ...   explanation", or an explanation on a line of its own far from the edge.
std::string HelpLine(Language language, absl::string_view line) {
  static const RE2& option = *new RE2(R"((  \S.*?\S?   *|\s{20,})(\S.*))");
  std::string left;
  std::string text;
  if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), option, &left, &text)) {
    return Localised(language, line);
  }
  return absl::StrCat(absl::StrReplaceAll(left, {{"REQUIRED", "必填"}}), Localised(language, text));
}

}  // namespace

std::string Localised(Language language, absl::string_view english) {
  return language == Language::kChinese ? BuiltInPhrases().InChinese(english) : std::string(english);
}

std::string LocalisedHelp(Language language, absl::string_view help) {
  if (language != Language::kChinese) return std::string(help);
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(help, '\n')) {
    if (absl::StartsWith(line, "Usage: ")) {
      lines.push_back(absl::StrReplaceAll(line, {{"Usage: ", "用法："}, {"[OPTIONS]", "[选项]"}}));
    } else if (line == "Options:" || line == "Positionals:") {
      lines.push_back(line == "Options:" ? "选项：" : "位置参数：");
    } else {
      lines.push_back(HelpLine(language, line));
    }
  }
  return absl::StrJoin(lines, "\n");
}

Language LanguageOfCommandLine(const std::vector<std::string>& args, std::string (*getenv)(absl::string_view)) {
  for (std::size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    absl::string_view value = args[i];
    const bool joined = absl::ConsumePrefix(&value, "--lang=");
    if (!joined && (args[i] != "--lang" || i + 1 == args.size())) continue;
    if (!joined) value = args[i + 1];
    return absl::StartsWith(value, "zh") ? Language::kChinese : Language::kEnglish;
  }
  return getenv == nullptr ? Language::kEnglish : LanguageFromEnvironment(getenv);
}

}  // namespace paritect
