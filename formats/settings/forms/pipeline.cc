// What an input pipeline printed of itself (`kind: pipeline`): NAME=VALUE, one a line or several ("data: seed=77
// num_workers=8"), and "NAME: VALUE" lines; a value in brackets may hold blanks. What stands between is prose.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr char kName[] = "pipeline";

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_.-", c);
}

// The name that ends before `end`; "" where there is none.
absl::string_view NameBefore(absl::string_view line, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && IsNameChar(line[begin - 1])) --begin;
  absl::string_view name = line.substr(begin, end - begin);
  while (absl::StartsWith(name, "-")) name.remove_prefix(1);
  return !name.empty() && absl::ascii_isalpha(static_cast<unsigned char>(name.front())) ? name : "";
}

// The value that begins at `begin`: a bracket or quote with all that is in it, else up to a blank, ',' or ';'.
absl::string_view ValueAt(absl::string_view line, std::size_t begin) {
  if (begin >= line.size()) return "";
  std::size_t end = begin;
  if (absl::StrContains("([{", line[begin])) {
    end = ClosingBracket(line, begin);
    return end == absl::string_view::npos ? line.substr(begin) : line.substr(begin, end - begin + 1);
  }
  if (line[begin] == '"' || line[begin] == '\'') {
    end = line.find(line[begin], begin + 1);
    return end == absl::string_view::npos ? line.substr(begin) : line.substr(begin, end - begin + 1);
  }
  int depth = 0;
  for (; end < line.size(); ++end) {
    const char c = line[end];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0 || (depth == 0 && absl::StrContains(" \t,;", c))) break;
  }
  return line.substr(begin, end - begin);
}

// The number of NAME=VALUE on the line.
int AddPairs(absl::string_view line, std::int64_t number, SettingsBuilder& builder) {
  int pairs = 0;
  for (std::size_t equals = line.find('='); equals != absl::string_view::npos; equals = line.find('=', equals)) {
    const absl::string_view name = NameBefore(line, equals);
    const absl::string_view value = ValueAt(line, equals + 1);
    equals += 1 + value.size();
    if (name.empty() || value.empty() || value.front() == '=') continue;
    builder.Add(name, value, number);
    ++pairs;
  }
  return pairs;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#' || AddPairs(line, number, builder) > 0) return;
    for (absl::string_view divider : {" = ", ": "}) {
      const std::size_t at = line.find(divider);
      if (at == absl::string_view::npos || NameBefore(line, at).size() != at) continue;
      builder.Add(line.substr(0, at), absl::StripAsciiWhitespace(line.substr(at + divider.size())), number);
      return;
    }
  });
  if (builder.empty()) {
    return absl::DataLossError("no NAME=VALUE and no \"NAME: VALUE\" line of an input pipeline");
  }
  return builder.Finish();
}

// Only a plan tells that lines are of a pipeline.
int Sniff(absl::string_view) {
  return 0;
}

}  // namespace

extern const SettingsFormat kPipelineSettings;
const SettingsFormat kPipelineSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
