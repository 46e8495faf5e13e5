#include "formats/logs/machinery/printed_settings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {

v1::Value TypePrintedValue(absl::string_view text) {
  v1::Value value;
  text = absl::StripAsciiWhitespace(text);
  if (text == "True" || text == "true") {
    value.set_boolean(true);
  } else if (text == "False" || text == "false") {
    value.set_boolean(false);
  } else if (text == "None" || text == "null") {
    value.set_null(true);
  } else if (auto integer = ParseInt(text)) {
    value.set_integer(*integer);
  } else if (auto number = ParseDouble(text)) {
    value.set_number(*number);
  } else if (auto grouped = ParseDoubleWithCommas(text)) {
    value.set_number(*grouped);
  } else {
    const bool quoted =
        text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
    if (quoted) text = text.substr(1, text.size() - 2);
    value.set_text(std::string(text));
  }
  return value;
}

void AddPrintedSetting(v1::SettingsDocument& document, absl::string_view key, absl::string_view value,
                       std::int64_t line) {
  v1::Setting& setting = *document.add_settings();
  setting.set_raw_key(std::string(key));
  setting.set_raw_value(std::string(value));
  *setting.mutable_value() = TypePrintedValue(value);
  setting.set_origin(absl::StrCat(":", line));
}

}  // namespace paritect
