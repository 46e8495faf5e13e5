#include "agent/drafting/folder_scan.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/file_names.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

using Type = FileInfo::Type;
using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

std::string Below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : absl::StrCat(folder, "/", name);
}

bool Contains(const std::vector<std::string>& list, absl::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Hydra keeps what a run was set to in a hidden folder.
bool IsLeftOut(const std::string& name) {
  return (IsForeignCode(name) && name != ".hydra") || Contains(BuiltInFolderWords().left_out, name) ||
         Contains(BuiltInFileNames().junk_names, name) || Contains(BuiltInFileNames().junk_folders, name);
}

class Scan {
 public:
  Scan(FileSystem& fs, const std::string& root) : fs_(fs), root_(root) {}

  absl::StatusOr<FolderScan> Run() {
    PARITECT_RETURN_IF_ERROR(Folder({"", 0}));
    while (!open_.empty()) {
      const Open folder = std::move(open_.back());
      open_.pop_back();
      if (!Folder(folder).ok()) out_.passed_over.push_back({folder.path, "not_taken_unreadable"});
    }
    PassOverLinks();
    std::sort(out_.files.begin(), out_.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    std::sort(out_.data.begin(), out_.data.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    std::sort(out_.folders.begin(), out_.folders.end());
    std::sort(out_.recorded.begin(), out_.recorded.end());
    return std::move(out_);
  }

 private:
  struct Open {
    std::string path;
    int depth = 0;
  };

  absl::Status Folder(const Open& folder) {
    const std::string path = folder.path.empty() ? root_ : JoinPath(root_, folder.path);
    std::vector<std::string> names;
    PARITECT_RETURN_IF_ERROR(fs_.List(path, [&](const DirectoryEntry& entry) {
      if (names.size() <= kScanEntriesMax) names.push_back(entry.name);
    }));
    std::sort(names.begin(), names.end());
    if (!folder.path.empty() && Contains(names, "plan.yaml")) {
      out_.recorded.push_back(folder.path);
      return absl::OkStatus();
    }
    if (!folder.path.empty()) out_.folders.push_back(folder.path);
    for (const std::string& name : names) {
      if (IsLeftOut(name)) continue;
      if (++seen_ > kScanEntriesMax) {
        ++out_.left_out;
        continue;
      }
      Entry(Below(folder.path, name), name, folder.depth);
    }
    return absl::OkStatus();
  }

  void Entry(const std::string& path, const std::string& name, int depth) {
    const std::string on_disk = JoinPath(root_, path);
    auto info = fs_.LStat(on_disk);
    if (!info.ok()) return out_.passed_over.push_back({path, "not_taken_unreadable"});
    const bool link = info->type == Type::kSymlink;
    if (link) {
      info = fs_.Stat(on_disk);
      if (!info.ok()) return out_.passed_over.push_back({path, "not_taken_dangling"});
    }
    switch (info->type) {
      case Type::kRegular: {
        const FileId id = {info->device, info->inode};
        if (!link) names_.try_emplace(id, path);
        if (link) links_.emplace_back(path, id);
        return out_.files.push_back({path, info->size_bytes});
      }
      case Type::kDirectory: return Enter(path, name, depth, link);
      default: return out_.passed_over.push_back({path, "not_taken_special"});
    }
  }

  // A file that is reached by its own name, too ("latest.log").
  void PassOverLinks() {
    for (const auto& [path, id] : links_) {
      const auto own = names_.find(id);
      if (own == names_.end()) continue;
      std::erase_if(out_.files, [&path = path](const ScannedFile& file) { return file.path == path; });
      out_.passed_over.push_back({path, "not_taken_same_file", own->second});
    }
  }

  void Enter(const std::string& path, const std::string& name, int depth, bool link) {
    if (HasWord(name, BuiltInFolderWords().data)) return out_.data.push_back(MeasureData(fs_, root_, path));
    // A link leads to what is in here anyway ("latest"), or out of the folder: to another run for all that is known.
    if (link) return out_.passed_over.push_back({path, "not_taken_link"});
    if (depth >= kScanDepthMax) return out_.passed_over.push_back({path, "not_taken_deep"});
    open_.push_back({path, depth + 1});
  }

  FileSystem& fs_;
  const std::string root_;
  std::vector<Open> open_;
  std::map<FileId, std::string> names_;                // of files that are no links
  std::vector<std::pair<std::string, FileId>> links_;  // to files
  std::size_t seen_ = 0;
  FolderScan out_;
};

}  // namespace

absl::StatusOr<FolderScan> ScanFolder(FileSystem& fs, const std::string& root) {
  return Scan(fs, root).Run();
}

ScannedData MeasureData(FileSystem& fs, const std::string& root, const std::string& path) {
  ScannedData data;
  data.path = path;
  std::vector<std::string> open = {JoinPath(root, path)};
  std::set<FileId> entered;  // a folder bound into itself
  std::size_t seen = 0;
  for (bool first = true; !open.empty(); first = false) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    std::vector<std::string> names;
    if (!fs.List(folder, [&](const DirectoryEntry& entry) {
             if (++seen <= kScanEntriesMax) names.push_back(entry.name);
           }).ok()) {
      continue;  // the collector of data sets tells of it
    }
    for (const std::string& name : names) {
      const std::string child = JoinPath(folder, name);
      auto info = fs.LStat(child);
      const bool link = info.ok() && info->type == Type::kSymlink;
      if (link) info = fs.Stat(child);
      if (!info.ok()) continue;
      if (info->type == Type::kRegular) {
        ++data.files;
        data.size_bytes += info->size_bytes;
      } else if (info->type == Type::kDirectory && !link) {
        if (first) data.folders.push_back(name);
        if (entered.insert({info->device, info->inode}).second) open.push_back(child);
      }
    }
    data.more = seen > kScanEntriesMax;
    if (data.more) break;
  }
  std::sort(data.folders.begin(), data.folders.end());
  return data;
}

}  // namespace paritect
