#include "client/manifest/names.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/atomic_file.h"
#include "common/file_system.h"

namespace paritect {
namespace {

absl::string_view WithoutDots(absl::string_view path) {
  while (absl::ConsumePrefix(&path, "./")) {
  }
  absl::ConsumeSuffix(&path, "/");
  return path;
}

// `path` below `folder`; "": it is not.
std::string Below(absl::string_view folder, absl::string_view path) {
  folder = WithoutDots(folder);
  path = WithoutDots(path);
  if (folder.empty() || folder == ".") return absl::StartsWith(path, "/") ? "" : std::string(path);
  return absl::ConsumePrefix(&path, folder) && absl::ConsumePrefix(&path, "/") ? std::string(path) : "";
}

// As a pattern that fits this name alone.
std::string LiteralPattern(absl::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '*' || c == '?' || c == '[') {
      absl::StrAppend(&out, "[", absl::string_view(&c, 1), "]");
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

void ExcludeFile(absl::string_view folder, absl::string_view file, TreeOptions& tree) {
  std::string name = Below(folder, file);
  if (name.empty()) {
    const std::string place = JoinPath(RealPath(std::string(DirName(file))), BaseName(file));
    name = Below(RealPath(std::string(folder)), place);
  }
  if (!name.empty()) tree.exclude.push_back(LiteralPattern(name));
}

std::string FolderOfNames(const v1::FileList& list, const v1::FileList& found) {
  constexpr int kSample = 50;
  std::map<absl::string_view, std::vector<absl::string_view>> wanted;  // by their last part
  const int step = std::max(1, list.files_size() / kSample);
  int sample = 0;
  for (int i = 0; i < list.files_size(); i += step, ++sample)
    wanted[BaseName(list.files(i).path())].push_back(list.files(i).path());
  std::map<std::string, int> folders;
  int here = 0;
  for (const v1::FileEntry& file : found.files()) {
    const auto names = wanted.find(BaseName(file.path()));
    if (names == wanted.end()) continue;
    for (absl::string_view name : names->second) {
      here += file.path() == name ? 1 : 0;
      absl::string_view folder = file.path();
      if (absl::ConsumeSuffix(&folder, name) && absl::ConsumeSuffix(&folder, "/")) ++folders[std::string(folder)];
    }
  }
  if (here * 4 >= sample) return "";
  for (const auto& [folder, count] : folders) {
    if (!folder.empty() && count * 4 >= sample * 3) return folder;
  }
  return "";
}

}  // namespace paritect
