// Lists of installed software: `pip freeze`, `pip list`, "name=version" (conda list -e), "name version" with
// "# packages in environment"; and "Key: value" reports of torch's collect_env.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

// PEP 503: runs of "-_." are one "-", lower case.
std::string PackageName(absl::string_view name) {
  std::string out;
  for (char c : absl::StripAsciiWhitespace(name)) {
    const bool sign = c == '-' || c == '_' || c == '.';
    if (sign && (out.empty() || out.back() == '-')) continue;
    out.push_back(sign ? '-' : absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool IsPackageName(absl::string_view name) {
  if (name.empty() || !absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("-_.[]", c)) return false;
  }
  return true;
}

bool SplitPackage(absl::string_view line, absl::string_view& name, absl::string_view& version) {
  line = absl::StripAsciiWhitespace(line);
  if (auto at = line.find("=="); at != absl::string_view::npos) {
    name = line.substr(0, at);
    version = line.substr(at + 2);
  } else if (auto url = line.find(" @ "); url != absl::string_view::npos) {
    name = line.substr(0, url);
    version = line.substr(url + 3);
  } else {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t="), absl::SkipEmpty());
    if (words.size() < 2 || words.size() > 4 || !absl::ascii_isdigit(static_cast<unsigned char>(words[1][0])))
      return false;
    name = words[0];
    version = words[1];
  }
  if (auto blank = version.find_first_of(" ;"); blank != absl::string_view::npos) version = version.substr(0, blank);
  return IsPackageName(name) && !version.empty();
}

int Sniff(absl::string_view head) {
  int packages = 0;
  int pinned = 0;
  int others = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || absl::StartsWith(line, "-e ") || absl::StartsWith(line, "---")) return;
    absl::string_view name, version;
    if (!SplitPackage(line, name, version)) {
      ++others;
      return;
    }
    ++packages;
    pinned += absl::StrContains(line, "==") ? 1 : 0;
  });
  if (packages == 0) return 0;
  if (pinned > 0 && others * 5 <= packages) return 80;
  return packages >= 3 && others <= 1 && absl::StrContains(head, "Package") ? 78
         : others == 0 && packages >= 3                                     ? 35
                                                                            : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("packages", "packages", label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    absl::string_view name, version;
    if (line.empty() || line[0] == '#' || !SplitPackage(line, name, version)) return;
    builder.AddText(absl::StrCat("package.", PackageName(name)), absl::StripAsciiWhitespace(version), number);
  });
  return builder.Finish();
}

int SniffCollectEnv(absl::string_view head) {
  return absl::StrContains(head, "PyTorch version:") && absl::StrContains(head, "Python version:") ? 92 : 0;
}

// "PyTorch version: 2.1.0", "[pip3] torch==2.1.0", "GPU 0: NVIDIA A100-SXM4-80GB".
absl::StatusOr<v1::SettingsDocument> ParseCollectEnv(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("collect-env", "packages", label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    absl::string_view name, version;
    for (absl::string_view mark : {"[pip3] ", "[pip] ", "[conda] "}) {
      if (!absl::StartsWith(line, mark)) continue;
      if (SplitPackage(line.substr(mark.size()), name, version)) {
        builder.AddText(absl::StrCat("package.", PackageName(name)), version, number);
      }
      return;
    }
    const std::vector<absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (pair.size() != 2) return;
    if (absl::StartsWith(pair[0], "GPU ")) {
      builder.AddText("gpu.name", absl::StripAsciiWhitespace(pair[1]), number);
    } else if (pair[0] == "PyTorch version") {
      builder.AddText("torch_version", absl::StripAsciiWhitespace(pair[1]), number);
    } else {
      builder.AddText(absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripAsciiWhitespace(pair[0])), {{" ", "_"}}),
                      absl::StripAsciiWhitespace(pair[1]), number);
    }
  });
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kPackagesSettings;
const SettingsFormat kPackagesSettings = {"packages", "packages", &Sniff, &Parse};
extern const SettingsFormat kCollectEnvSettings;
const SettingsFormat kCollectEnvSettings = {"collect-env", "packages", &SniffCollectEnv, &ParseCollectEnv};

}  // namespace paritect
