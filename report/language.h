// Which of the product's two languages a text is shown in.
#ifndef PARITECT_REPORT_LANGUAGE_H_
#define PARITECT_REPORT_LANGUAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

enum class Language { kEnglish, kChinese };

// "en", "zh", "en,zh" or "zh,en", in the order in which they are to be shown. An empty text is answered
// from the environment. InvalidArgument for anything else.
absl::StatusOr<std::vector<Language>> ChooseLanguages(absl::string_view option,
                                                      std::string (*getenv)(absl::string_view));

// LC_ALL over LC_MESSAGES over LANG (POSIX: the first that is not empty decides); zh* is Chinese, all else English.
Language LanguageFromEnvironment(std::string (*getenv)(absl::string_view));

// Whether the terminal's character set is UTF-8, by LC_ALL over LC_CTYPE over LANG. Without it only the
// decoration becomes ASCII: texts and names stay what they are.
bool LocaleIsUtf8(std::string (*getenv)(absl::string_view));

const std::string& In(Language language, const v1::Text& text);
// The text in each language, joined; once where both are the same.
std::string InAll(absl::Span<const Language> languages, const v1::Text& text, absl::string_view separator = " / ");

// A value of a finding, or its subject, as it is shown: in Chinese its words are said in Chinese ("733 bytes"), and
// names, numbers and what stands in files stay what they are (rules/data/value_phrases.yaml).
std::string ValueIn(Language language, absl::string_view value);

// What parts a name from what is said of it: full-width in Chinese.
absl::string_view Colon(Language language);
// The same behind a label, which a blank parts from its text.
absl::string_view LabelColon(Language language);

// What parts the items of a list from each other: as full-width as the colon.
absl::string_view ListSeparator(Language language);

}  // namespace paritect

#endif  // PARITECT_REPORT_LANGUAGE_H_
