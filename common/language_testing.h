// For tests: whether a text meant for readers of one language holds a sentence of the other.
#ifndef PARITECT_COMMON_LANGUAGE_TESTING_H_
#define PARITECT_COMMON_LANGUAGE_TESTING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace paritect {

// The first run of four or more English words of a Chinese text, "" where there is none. Lists, names and options are
// no sentence, and neither is what stands in quotation marks or backquotes: somebody else's words.
inline std::string EnglishSentenceIn(absl::string_view text) {
  static const RE2& quoted = *new RE2("`[^`]*`|'[^'\\n]*'|“[^”]*”|\"[^\"\\n]*\"");
  static const RE2& words = *new RE2("(?:^|[^\\w./=-])((?:[A-Za-z][a-z]+ ){3,}[a-z]{2,})(?:[^\\w/=(.]|$|\\. )");
  std::string plain(text);
  RE2::GlobalReplace(&plain, quoted, "");
  std::string found;
  return RE2::PartialMatch(plain, words, &found) ? found : "";
}

// Whether the text holds a Chinese character outside quotation marks and backquotes.
inline bool HoldsChinese(absl::string_view text) {
  static const RE2& quoted = *new RE2("`[^`]*`|'[^'\\n]*'|\"[^\"\\n]*\"");
  static const RE2& chinese = *new RE2("[\\x{3400}-\\x{9fff}\\x{3000}-\\x{303f}\\x{ff01}-\\x{ff5e}]");
  std::string plain(text);
  RE2::GlobalReplace(&plain, quoted, "");
  return RE2::PartialMatch(plain, chinese);
}

}  // namespace paritect

#endif  // PARITECT_COMMON_LANGUAGE_TESTING_H_
