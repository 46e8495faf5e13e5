#include "agent/collectors/record_files.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/glob.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kRecordFilesMax = 1'000'000;
constexpr int kDepthMax = 4;
constexpr std::size_t kSecretFolderNameBytes = 32;  // hexadecimal digits, as `paritect run` makes it

// `paritect run` of root records programs that become other users, so they may all write where it records; but only
// who was told the name of that folder finds it: it is drawn by lot and stands in one that nobody else lists.
bool IsKnownToItsOwnAlone(FileSystem& fs, const std::string& path) {
  const absl::string_view name = BaseName(path);
  const bool drawn = name.size() == kSecretFolderNameBytes && std::all_of(name.begin(), name.end(), [](char c) {
                       return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                     });
  if (!drawn) return false;
  const auto above = fs.Stat(DirName(path));
  return above.ok() && (above->mode & 066) == 0;
}

bool EndsWithAny(absl::string_view name, absl::Span<const absl::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](absl::string_view ending) { return absl::EndsWith(name, ending); });
}

absl::Status FindFiles(FileSystem& fs, const std::string& path, absl::Span<const absl::string_view> endings, int depth,
                       RecordFiles& found) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.type != FileInfo::Type::kDirectory) {
    found.files.insert(path);
    return absl::OkStatus();
  }
  const bool open = (info.mode & 022) != 0 && !IsKnownToItsOwnAlone(fs, path);
  std::vector<std::string> names;
  PARITECT_RETURN_IF_ERROR(fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
  for (const std::string& name : names) {
    const std::string below = JoinPath(path, name);
    auto one = fs.LStat(below);
    const bool folder = depth > 0 && one.ok() && one->type == FileInfo::Type::kDirectory;
    if (!folder && !EndsWithAny(name, endings)) continue;
    if (open && one.ok() && one->owner != info.owner && one->owner != 0) {
      found.foreign[below] = one->owner;
    } else if (folder) {
      PARITECT_RETURN_IF_ERROR(FindFiles(fs, below, endings, depth - 1, found));
    } else {
      found.files.insert(below);
    }
    if (found.files.size() + found.foreign.size() > kRecordFilesMax) {
      return absl::ResourceExhaustedError("more record files than can be read");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FindRecordFiles(FileSystem& fs, const std::string& path, absl::Span<const absl::string_view> endings,
                             RecordFiles& found) {
  return FindFiles(fs, path, endings, kDepthMax, found);
}

}  // namespace paritect
