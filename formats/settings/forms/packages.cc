// Lists of installed software: `pip freeze`, `pip list` (table and JSON), `conda list` (table, --export, --explicit,
// --json), `conda env export`, "Name=version" lines. Keys: "package.NAME", the name as PEP 503 has it.
#include "formats/settings/forms/packages.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/document.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {

std::string NormalisedPackageName(absl::string_view name) {
  std::string out;
  for (char c : absl::StripAsciiWhitespace(name)) {
    const bool sign = c == '-' || c == '_' || c == '.';
    if (sign && (out.empty() || out.back() == '-')) continue;
    out.push_back(sign ? '-' : absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

namespace {

using absl::StrCat;
using Words = std::vector<absl::string_view>;

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsPackageName(absl::string_view name) {
  if (name.empty() || !absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("-_.[]", c)) return false;
  }
  return true;
}

// "https://host/path/torch-2.1.0-cp310-none.whl" -> "2.1.0"; the text itself where it names no wheel.
absl::string_view VersionOfPlace(absl::string_view place) {
  const std::size_t slash = place.rfind('/');
  const absl::string_view file = slash == absl::string_view::npos ? place : place.substr(slash + 1);
  const Words parts = absl::StrSplit(file, '-');
  const bool wheel = absl::StrContains(file, ".whl") && parts.size() >= 5;
  return wheel ? parts[1] : place;
}

// "-e git+https://host/x.git@SHA#egg=name".
bool SplitEditable(absl::string_view line, PackageLine& out) {
  if (!absl::ConsumePrefix(&line, "-e ") && !absl::ConsumePrefix(&line, "--editable ")) return false;
  const std::size_t egg = line.find("#egg=");
  const std::size_t at = line.rfind('@', egg);
  if (egg == absl::string_view::npos || at == absl::string_view::npos) return false;
  absl::string_view name = line.substr(egg + 5);
  name = name.substr(0, name.find('&'));
  out = {std::string(absl::StripAsciiWhitespace(name)), std::string(line.substr(at + 1, egg - at - 1))};
  return IsPackageName(out.name);
}

}  // namespace

bool SplitPackageLine(absl::string_view line, PackageLine& out) {
  line = absl::StripAsciiWhitespace(line);
  if (absl::StartsWith(line, "-")) return SplitEditable(line, out);
  absl::string_view name, version;
  if (const std::size_t at = line.find("=="); at != absl::string_view::npos) {
    name = line.substr(0, at);
    version = line.substr(at + (absl::StartsWith(line.substr(at), "===") ? 3 : 2));
  } else if (const std::size_t url = line.find(" @ "); url != absl::string_view::npos) {
    name = line.substr(0, url);
    version = VersionOfPlace(absl::StripAsciiWhitespace(line.substr(url + 3)));
  } else {
    const Words words = absl::StrSplit(line, absl::ByAnyChar(" \t="), absl::SkipEmpty());
    if (words.size() < 2 || words.size() > 5 || !IsDigit(words[1][0])) return false;
    name = words[0];
    version = words[1];
  }
  version = absl::StripAsciiWhitespace(version);
  if (const std::size_t end = version.find_first_of(" ;\t"); end != absl::string_view::npos)
    version = version.substr(0, end);
  name = absl::StripAsciiWhitespace(name);
  out = {std::string(name), std::string(version)};
  return IsPackageName(name) && !version.empty();
}

namespace {

constexpr char kName[] = "packages";

bool IsJsonList(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  return absl::StartsWith(text, "[") && absl::StrContains(text, "\"name\"") && absl::StrContains(text, "\"version\"");
}

bool IsCondaEnvironment(absl::string_view text) {
  return (absl::StartsWith(text, "dependencies:") || absl::StrContains(text, "\ndependencies:")) &&
         (absl::StrContains(text, "channels:") || absl::StrContains(text, "- pip:"));
}

int Sniff(absl::string_view head) {
  if (absl::StrContains(head, "@EXPLICIT")) return 92;
  if (absl::StrContains(head, "# packages in environment at") ||
      absl::StrContains(head, "# This file may be used to create an environment")) {
    return 92;
  }
  if (IsJsonList(head.substr(0, 4096))) return 85;
  if (IsCondaEnvironment(head)) return 86;
  bool table = false;  // the heading of `pip list`
  int packages = 0;
  int pinned = 0;
  int single = 0;  // "name=1.2.3", a name that is not in capitals
  int others = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == '-') return;
    const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() >= 2 && words[0] == "Package" && words[1] == "Version") {
      table = true;
      return;
    }
    PackageLine package;
    if (!SplitPackageLine(line, package)) {
      ++others;
      return;
    }
    ++packages;
    pinned += absl::StrContains(line, "==") ? 1 : 0;
    const bool lower = std::any_of(package.name.begin(), package.name.end(),
                                   [](char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); });
    single += lower && line.find('=') == package.name.size() && IsDigit(package.version[0]) &&
                      absl::StrContains(package.version, '.')
                  ? 1
                  : 0;
  });
  if (packages == 0) return 0;
  if (table && others * 5 <= packages) return 82;
  if (pinned > 0 && others * 5 <= packages) return 80;
  if (packages >= 3 && single * 10 >= packages * 8 && others * 10 <= packages) return 66;
  if (packages >= 3 && others <= 1 && absl::StrContains(head, "Package")) return 78;
  return others == 0 && packages >= 3 ? 35 : 0;
}

void Add(absl::string_view name, absl::string_view version, std::int64_t line, SettingsBuilder& builder) {
  builder.AddText(StrCat("package.", NormalisedPackageName(name)), absl::StripAsciiWhitespace(version), line);
}

absl::Status AddJson(absl::string_view text, SettingsBuilder& builder) {
  auto root = ParseJson(text);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  for (const DocumentNode& one : root->items) {
    const DocumentNode* name = one.Find("name");
    const DocumentNode* version = one.Find("version");
    if (name != nullptr && version != nullptr) Add(name->text, version->text, name->line, builder);
  }
  return absl::OkStatus();
}

absl::Status AddCondaEnvironment(absl::string_view text, SettingsBuilder& builder) {
  auto root = ParseYaml(text);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  const DocumentNode* list = root->Find("dependencies");
  if (list == nullptr || !list->is_list()) return absl::DataLossError("no list of dependencies");
  const auto add = [&](const DocumentNode& node) {
    PackageLine package;
    if (node.is_scalar() && SplitPackageLine(node.text, package))
      Add(package.name, package.version, node.line, builder);
  };
  for (const DocumentNode& one : list->items) {
    add(one);
    const DocumentNode* pip = one.Find("pip");
    if (pip == nullptr) continue;
    for (const DocumentNode& inner : pip->items) add(inner);
  }
  return absl::OkStatus();
}

// "https://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py310_0.conda#md5".
void AddExplicit(absl::string_view line, std::int64_t number, SettingsBuilder& builder) {
  line = line.substr(0, line.find('#'));
  const std::size_t slash = line.rfind('/');
  if (slash == absl::string_view::npos || !absl::StrContains(line, "://")) return;
  const Words parts = absl::StrSplit(line.substr(slash + 1), '-');
  if (parts.size() < 3) return;
  const absl::string_view version = parts[parts.size() - 2];
  const absl::string_view name =
      line.substr(slash + 1, static_cast<std::size_t>(version.data() - line.data()) - slash - 2);
  Add(name, version, number, builder);
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  absl::Status status;
  if (IsJsonList(text.substr(0, 4096))) {
    status = AddJson(text, builder);
  } else if (IsCondaEnvironment(text)) {
    status = AddCondaEnvironment(text, builder);
  } else {
    const bool explicit_list = absl::StrContains(text.substr(0, kSettingsHeadBytes), "@EXPLICIT");
    ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
      PackageLine package;
      line = absl::StripAsciiWhitespace(line);
      if (line.empty() || line[0] == '#') return;
      if (explicit_list) {
        AddExplicit(line, number, builder);
      } else if (SplitPackageLine(line, package)) {
        Add(package.name, package.version, number, builder);
      }
    });
  }
  if (!status.ok()) return status;
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kPackagesSettings;
const SettingsFormat kPackagesSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
