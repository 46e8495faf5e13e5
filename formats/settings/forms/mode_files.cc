// The text files that Ascend's precision options name; the third, the mixlist, is JSON and is read as such.
//   op_precision_mode  "[ByOpType]" / "[ByNodeName]" sections (none: by type) of NAME=MODE
//   customize_dtypes   NAME::InputDtype:T,T,OutputDtype:T and OpType::TYPE:InputDtype:...
// Keys: "op_precision.ByOpType.Conv2D", "custom_dtypes.OpType::Conv2D". Format: TF Adapter, accuracy_tuning.md.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kModes[] = {"high_precision",
                                        "high_performance",
                                        "enable_float_32_execution",
                                        "enable_hi_float_32_execution",
                                        "support_out_of_bound_index",
                                        "keep_fp16",
                                        "super_performance"};

absl::string_view WithoutComment(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  return absl::StartsWith(line, "#") || absl::StartsWith(line, ";") ? "" : line;
}

bool IsSection(absl::string_view line) {
  return absl::EqualsIgnoreCase(line, "[ByOpType]") || absl::EqualsIgnoreCase(line, "[ByNodeName]");
}

int SniffModes(absl::string_view head) {
  int sections = 0;
  int modes = 0;
  int others = 0;
  ForEachLine(head, [&](absl::string_view raw, std::int64_t) {
    const absl::string_view line = WithoutComment(raw);
    if (line.empty()) return;
    const std::size_t equals = line.find('=');
    const absl::string_view value =
        equals == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(equals + 1));
    bool known = false;
    for (absl::string_view mode : kModes) known = known || value == mode;
    sections += IsSection(line) ? 1 : 0;
    modes += known ? 1 : 0;
    others += IsSection(line) || known ? 0 : 1;
  });
  if (sections > 0) return 96;
  return modes > 0 && others <= modes ? 96 : 0;
}

absl::StatusOr<v1::SettingsDocument> ParseModes(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("flags", "op-precision", label);
  std::string section = "ByOpType";
  ForEachLine(text, [&](absl::string_view raw, std::int64_t number) {
    const absl::string_view line = WithoutComment(raw);
    if (line.empty()) return;
    if (line.front() == '[') {
      section =
          absl::EqualsIgnoreCase(line, "[ByNodeName]") ? "ByNodeName" : std::string(line.substr(1, line.find(']') - 1));
      if (absl::EqualsIgnoreCase(line, "[ByOpType]")) section = "ByOpType";
      return;
    }
    const std::size_t equals = line.find('=');
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, equals));
    const absl::string_view value =
        equals == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(equals + 1));
    builder.AddText(StrCat("op_precision.", section, ".", name), value, number);
  });
  return builder.Finish();
}

int SniffTypes(absl::string_view head) {
  int lines = 0;
  ForEachLine(head, [&](absl::string_view raw, std::int64_t) {
    const absl::string_view line = WithoutComment(raw);
    const bool types = absl::StrContains(line, "InputDtype:") || absl::StrContains(line, "OutputDtype:");
    lines += types && absl::StrContains(line, ':') && !absl::StrContains(line, '{') ? 1 : 0;
  });
  return lines > 0 ? 96 : 0;
}

// "OpType::Conv2D:InputDtype:float16" -> at the colon before "InputDtype" or "OutputDtype".
std::size_t TypesBegin(absl::string_view line) {
  const std::size_t in = line.find("InputDtype:");
  const std::size_t out = line.find("OutputDtype:");
  return std::min(in, out);
}

absl::StatusOr<v1::SettingsDocument> ParseTypes(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("flags", "custom-dtypes", label);
  ForEachLine(text, [&](absl::string_view raw, std::int64_t number) {
    const absl::string_view line = WithoutComment(raw);
    const std::size_t types = TypesBegin(line);
    if (line.empty() || types == absl::string_view::npos) return;
    absl::string_view name = line.substr(0, types);
    while (absl::EndsWith(name, ":")) name.remove_suffix(1);
    builder.AddText(StrCat("custom_dtypes.", name), absl::AsciiStrToLower(line.substr(types)), number);
  });
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kOpPrecisionSettings;
const SettingsFormat kOpPrecisionSettings = {"flags", "op-precision", &SniffModes, &ParseModes};
extern const SettingsFormat kCustomTypesSettings;
const SettingsFormat kCustomTypesSettings = {"flags", "custom-dtypes", &SniffTypes, &ParseTypes};

}  // namespace paritect
