// `step N ... loss X`: the line that no framework owns. Used by itself (format "text") and inside dialects
// that print no loss of their own.
#ifndef PARITECT_FORMATS_LOGS_PLAIN_LINES_H_
#define PARITECT_FORMATS_LOGS_PLAIN_LINES_H_

#include "formats/logs/log_format.h"

namespace paritect {

// Whether the line has a step word with a number and a number after a word that ends in "loss".
bool IsPlainLossLine(absl::string_view line);

// Reads one such line; false where it is none. A line that another writer's text was cut into is unparsed.
bool ReadPlainLine(const LogLine& line, RunLogBuilder& out);

// Walks over `KEY SEPARATOR VALUE` pairs: `visit(phrase, word, value)`, where `phrase` is the word with the word before it
// ("total loss") and `value` the text behind the separator. SEPARATOR is ':', '=', "is" or blanks before a digit.
void ForEachKeyValue(absl::string_view line,
                     absl::FunctionRef<void(absl::string_view phrase, absl::string_view word, absl::string_view value)> visit);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_PLAIN_LINES_H_
