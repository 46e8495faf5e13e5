// Settings that a log prints, as raw keys and typed values.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_PRINTED_SETTINGS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_PRINTED_SETTINGS_H_

#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// Types the text as Python or JSON spells it: True/false, None/null, integers, numbers, quoted texts; else a text.
v1::Value TypePrintedValue(absl::string_view text);

// Adds KEY = VALUE with origin ":LINE"; the reader of the file puts its name in front.
void AddPrintedSetting(v1::SettingsDocument& document, absl::string_view key, absl::string_view value,
                       std::int64_t line);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_PRINTED_SETTINGS_H_
