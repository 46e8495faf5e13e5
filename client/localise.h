// What a command says beside a report, in the user's language: help, mistakes, listings. Texts stand in the source in
// English; their Chinese is data (rules/phrases.h).
#ifndef PARITECT_CLIENT_LOCALISE_H_
#define PARITECT_CLIENT_LOCALISE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "report/language.h"

namespace paritect {

// The text in that language; as it is where it has no phrase.
std::string Localised(Language language, absl::string_view english);

// A help text (common/arguments.h) with its headings and explanations in that language; names of options stay.
std::string LocalisedHelp(Language language, absl::string_view help);

// What `--lang` names first, before or behind the verb and before a "--", else the environment's language (without an
// environment: English).
Language LanguageOfCommandLine(const std::vector<std::string>& args, std::string (*getenv)(absl::string_view));

}  // namespace paritect

#endif  // PARITECT_CLIENT_LOCALISE_H_
