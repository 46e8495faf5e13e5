#include "rules/rules_folder.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "rules/rules.h"

namespace paritect {
namespace {

constexpr std::uint64_t kFileBytesMax = 4 << 20;
constexpr std::size_t kFilesMax = 100;

// `below`: the path within the folder, "" or ending in '/'. Rules stand at most one folder deep.
absl::Status AddFiles(FileSystem& fs, const std::string& folder, const std::string& below,
                      std::vector<RulesFile>& files) {
  std::vector<std::string> names;
  PARITECT_RETURN_IF_ERROR(fs.List(folder, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
    if (info.type == FileInfo::Type::kDirectory && below.empty()) {
      PARITECT_RETURN_IF_ERROR(AddFiles(fs, path, absl::StrCat(name, "/"), files));
    }
    if (info.type != FileInfo::Type::kRegular || !absl::EndsWith(name, ".yaml")) continue;
    if (files.size() == kFilesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kFilesMax, " .yaml files: is this a folder of rules?"));
    }
    PARITECT_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(fs, path, kFileBytesMax));
    files.push_back({absl::StrCat(below, name), std::move(bytes)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RulesFile>> ReadRulesFolder(FileSystem& fs, absl::string_view folder) {
  std::vector<RulesFile> files;
  PARITECT_RETURN_IF_ERROR(AddFiles(fs, std::string(folder), "", files));
  if (files.empty()) return absl::InvalidArgumentError("no .yaml file in it (settings.yaml, messages/logs.yaml, ...)");
  return files;
}

absl::Status TakeRulesOption(FileSystem& fs, std::vector<std::string>& arguments) {
  std::string folder;
  bool given = false;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const bool joined = absl::ConsumePrefix(&argument, "--rules=");
    if (!joined && argument != "--rules") {
      rest.push_back(arguments[i]);
      continue;
    }
    if (given) return absl::InvalidArgumentError("--rules is given twice; put the files into one folder");
    if (!joined && i + 1 == arguments.size()) return absl::InvalidArgumentError("--rules needs a folder");
    given = true;
    folder = joined ? std::string(argument) : arguments[++i];
  }
  if (!given) return absl::OkStatus();
  auto files = ReadRulesFolder(fs, folder);
  absl::Status status = files.status();
  if (status.ok()) status = CheckOverrides(*files);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--rules ", DisplayBytes(folder), ": ", status.message()));
  }
  SetRulesOverrides(*std::move(files));
  arguments = std::move(rest);
  return absl::OkStatus();
}

}  // namespace paritect
