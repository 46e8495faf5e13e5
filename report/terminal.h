// What a terminal needs: safe text, columns, wrapping, colour.
#ifndef PARITECT_REPORT_TERMINAL_H_
#define PARITECT_REPORT_TERMINAL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// Text on one line without anything that a terminal would obey: control characters (C0, C1, DEL), bytes that are
// not UTF-8 and directional overrides stand as \xHH. File names and log lines are other people's bytes.
std::string TerminalSafe(absl::string_view text);

// `text` cut to `columns`, with an ellipsis where something was cut ("..." if `ascii`).
std::string Shorten(absl::string_view text, std::size_t columns, bool ascii);

// `text` followed by blanks up to `columns`; never cut. CJK characters count two columns.
std::string Pad(absl::string_view text, std::size_t columns);

// Lines of at most `columns`: broken at blanks, between CJK characters, and inside a word only where the word
// alone is longer. At least one line.
std::vector<std::string> Wrap(absl::string_view text, std::size_t columns);

// --color auto|always|never. `auto`: a terminal, and neither NO_COLOR nor TERM=dumb.
absl::StatusOr<bool> ChooseColour(absl::string_view option, bool is_terminal, std::string (*getenv)(absl::string_view));

}  // namespace paritect

#endif  // PARITECT_REPORT_TERMINAL_H_
