// Environment dumps: `env` output, "export NAME=VALUE" lines, KEY=VALUE files, NUL-separated /proc/PID/environ.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

// "NAME=VALUE" with an optional "export " or "declare -x " before it; false where the line is none.
bool SplitAssignment(absl::string_view line, absl::string_view& name, absl::string_view& value) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "export ")) absl::ConsumePrefix(&line, "declare -x ");
  line = absl::StripLeadingAsciiWhitespace(line);
  const std::size_t equals = line.find('=');
  if (equals == absl::string_view::npos) return false;
  name = line.substr(0, equals);
  value = line.substr(equals + 1);
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) {
    value = value.substr(1, value.size() - 2);
  }
  return IsIdentifier(name);
}

int Sniff(absl::string_view head) {
  const bool nul_separated = absl::StrContains(head, absl::string_view("\0", 1));
  int assignments = 0;
  int others = 0;
  auto count = [&](absl::string_view line) {
    absl::string_view stripped = absl::StripAsciiWhitespace(line);
    if (stripped.empty() || stripped[0] == '#') return;
    absl::string_view name, value;
    (SplitAssignment(stripped, name, value) ? assignments : others) += 1;
  };
  if (nul_separated) {
    for (absl::string_view part : absl::StrSplit(head, '\0')) count(part);
  } else {
    ForEachLine(head, [&](absl::string_view line, std::int64_t) { count(line); });
  }
  if (assignments == 0) return 0;
  // A value may run over several lines (a function, a certificate), so a few others are allowed.
  return others == 0 ? 60 : others * 10 <= assignments ? 40 : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("environment", "environment", label);
  auto add = [&](absl::string_view line, std::int64_t number) {
    absl::string_view name, value;
    if (SplitAssignment(line, name, value)) builder.Add(name, value, number);
  };
  if (absl::StrContains(text, absl::string_view("\0", 1))) {
    std::int64_t number = 0;
    for (absl::string_view part : absl::StrSplit(text, '\0')) add(part, ++number);
  } else {
    ForEachLine(text, add);
  }
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kEnvironmentSettings;
const SettingsFormat kEnvironmentSettings = {"environment", "environment", &Sniff, &Parse};

}  // namespace paritect
