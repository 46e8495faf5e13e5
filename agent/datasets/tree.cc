#include "agent/datasets/tree.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/datasets/names.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

FileId IdOf(const FileInfo& info) {
  return {info.device, info.inode};
}

v1::Problem MakeProblem(absl::string_view id, absl::string_view source, absl::string_view why = "") {
  v1::Problem problem;
  problem.set_id(std::string(id));
  (*problem.mutable_args())["source"] = DisplayBytes(source);
  if (!why.empty()) (*problem.mutable_args())["why"] = DisplayBytes(why);
  return problem;
}

// Include and exclude patterns, made uniform once.
class Filter {
 public:
  explicit Filter(const TreeOptions& options) : include_(Clean(options.include)), exclude_(Clean(options.exclude)) {}

  bool Excluded(absl::string_view path) const { return Matches(exclude_, path); }
  // A folder above `path` that is named counts as well; callers prune excluded folders themselves.
  bool Included(absl::string_view path) const {
    if (include_.empty() || Matches(include_, path)) return true;
    for (auto slash = path.rfind('/'); slash != absl::string_view::npos; slash = path.rfind('/')) {
      path = path.substr(0, slash);
      if (Matches(include_, path)) return true;
    }
    return false;
  }

 private:
  static std::vector<std::string> Clean(const std::vector<std::string>& patterns) {
    std::vector<std::string> out;
    for (absl::string_view pattern : patterns) {
      while (absl::StartsWith(pattern, "./")) pattern.remove_prefix(2);
      while (pattern.size() > 1 && pattern.back() == '/') pattern.remove_suffix(1);
      out.emplace_back(pattern);
    }
    return out;
  }
  static bool Matches(const std::vector<std::string>& patterns, absl::string_view path) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return GlobMatch(p, path); });
  }

  const std::vector<std::string> include_;
  const std::vector<std::string> exclude_;
};

class Walker {
 public:
  Walker(FileSystem& fs, absl::string_view root, const TreeOptions& options)
      : fs_(fs), root_(root), options_(options), filter_(options) {}

  absl::StatusOr<Tree> Run() {
    PARITECT_ASSIGN_OR_RETURN(FileInfo info, fs_.Stat(root_));
    tree_.list.set_format("tree");
    if (info.type == FileInfo::Type::kRegular) {
      tree_.root_is_file = true;
      AddFile(std::string(BaseName(root_)), info);
      return Finish();
    }
    if (info.type != FileInfo::Type::kDirectory) {
      return absl::FailedPreconditionError(absl::StrCat(DisplayBytes(root_), ": neither a folder nor a file"));
    }
    PARITECT_RETURN_IF_ERROR(fs_.List(root_, [](const DirectoryEntry&) {}));
    EnterFolder("", -1, IdOf(info));
    while (!open_.empty()) {
      const int folder = open_.back();
      open_.pop_back();
      ReadFolder(folder);
    }
    return Finish();
  }

 private:
  struct Folder {
    std::string path;
    int parent;
    FileId id;
  };

  std::string OnDisk(absl::string_view relative) const { return PathOnDisk(root_, false, relative); }

  void EnterFolder(std::string path, int parent, FileId id) {
    folders_.push_back({std::move(path), parent, id});
    open_.push_back(static_cast<int>(folders_.size()) - 1);
    visited_.insert(id);
  }

  bool LeadsBack(int folder, FileId id) const {
    for (int at = folder; at >= 0; at = folders_[at].parent) {
      if (folders_[at].id == id) return true;
    }
    return false;
  }

  v1::FileEntry* Add(const std::string& path, v1::FileType type, const FileInfo& info) {
    if (found_.size() >= options_.entries_max) {
      if (!overflow_) *tree_.list.add_incomplete() = MakeProblem("dataset_too_many_files", root_);
      overflow_ = true;
      return nullptr;
    }
    found_.emplace_back(v1::FileEntry(), info);
    v1::FileEntry& entry = found_.back().first;
    entry.set_path(path);
    entry.set_type(type);
    AddNameReadings(entry);
    return &entry;
  }

  void AddFile(const std::string& path, const FileInfo& info, absl::string_view link_target = "") {
    v1::FileEntry* entry = Add(path, v1::FILE_TYPE_REGULAR, info);
    if (entry == nullptr) return;
    entry->set_size_bytes(info.size_bytes);
    entry->set_link_target(std::string(link_target));
    AddNameHints(path, *entry);
  }

  void ReadFolder(int folder) {
    const std::string path = folders_[folder].path;
    std::vector<std::string> names;
    const absl::Status status =
        fs_.List(OnDisk(path), [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
    if (!status.ok()) {
      v1::UnreadFolder& unread = *tree_.list.add_unread_folders();
      unread.set_path(path);
      *unread.mutable_problem() = MakeProblem("source_unreadable", path, status.message());
    }
    if (names.empty() && status.ok() && !path.empty() && filter_.Included(path)) {
      Add(path, v1::FILE_TYPE_DIRECTORY, FileInfo());
    }
    for (const std::string& name : names) {
      if (!overflow_) Visit(folder, path.empty() ? name : absl::StrCat(path, "/", name));
    }
  }

  void Visit(int folder, const std::string& path) {
    if (filter_.Excluded(path)) return;
    auto info = fs_.LStat(OnDisk(path));
    if (!info.ok()) {
      if (!filter_.Included(path)) return;
      v1::FileEntry* entry = Add(path, v1::FILE_TYPE_REGULAR, FileInfo());
      if (entry != nullptr) *entry->mutable_error() = MakeProblem("source_unreadable", path, info.status().message());
      return;
    }
    switch (info->type) {
      case FileInfo::Type::kDirectory: EnterFolder(path, folder, IdOf(*info)); return;
      case FileInfo::Type::kSymlink: VisitLink(folder, path, *info); return;
      case FileInfo::Type::kRegular:
        if (filter_.Included(path)) AddFile(path, *info);
        return;
      case FileInfo::Type::kSpecial:
        if (filter_.Included(path)) Add(path, v1::FILE_TYPE_SPECIAL, *info);
        return;
    }
  }

  void VisitLink(int folder, const std::string& path, const FileInfo& link) {
    const std::string target_text = fs_.ReadLink(OnDisk(path)).value_or("");
    auto target = fs_.Stat(OnDisk(path));
    if (target.ok() && target->type == FileInfo::Type::kDirectory && options_.follow_symlinks &&
        !LeadsBack(folder, IdOf(*target))) {
      EnterFolder(path, folder, IdOf(*target));
      return;
    }
    if (!filter_.Included(path)) return;
    if (target.ok() && target->type == FileInfo::Type::kRegular) {
      AddFile(path, *target, target_text);
      return;
    }
    const bool special = target.ok() && target->type == FileInfo::Type::kSpecial;
    v1::FileEntry* entry =
        Add(path, special ? v1::FILE_TYPE_SPECIAL : v1::FILE_TYPE_SYMLINK, target.ok() ? *target : link);
    if (entry == nullptr) return;
    entry->set_link_target(target_text);
    if (target.ok() && !special) {
      if (LeadsBack(folder, IdOf(*target))) entry->add_hints(v1::FILE_HINT_LINK_LOOP);
    } else if (absl::IsNotFound(target.status()) || absl::IsFailedPrecondition(target.status())) {
      entry->add_hints(v1::FILE_HINT_DANGLING_LINK);
    } else if (!target.ok()) {
      *entry->mutable_error() = MakeProblem("source_unreadable", path, target.status().message());
      // Whatever lies behind it was not seen: it may be a folder with any number of files.
      v1::UnreadFolder& unread = *tree_.list.add_unread_folders();
      unread.set_path(path);
      *unread.mutable_problem() = MakeProblem("source_unreadable", path, target.status().message());
    }
  }

  // A folder link that was not entered leaves content unseen, unless the walk came there anyway.
  void MarkUnseenFolders() {
    for (auto& [entry, info] : found_) {
      const bool folder_link = entry.type() == v1::FILE_TYPE_SYMLINK && info.type == FileInfo::Type::kDirectory;
      if (!folder_link || HasHint(entry, v1::FILE_HINT_LINK_LOOP) || visited_.contains(IdOf(info))) continue;
      *entry.mutable_error() = MakeProblem("folder_link_not_entered", entry.path());
      (*entry.mutable_error()->mutable_args())["target"] = DisplayBytes(entry.link_target());
    }
  }

  Tree Finish() {
    MarkUnseenFolders();
    std::vector<std::size_t> order(found_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return found_[a].first.path() < found_[b].first.path(); });
    tree_.list.mutable_files()->Reserve(static_cast<int>(order.size()));
    tree_.infos.reserve(order.size());
    for (std::size_t i : order) {
      tree_.infos.push_back(found_[i].second);
      *tree_.list.add_files() = std::move(found_[i].first);
    }
    auto& unread = *tree_.list.mutable_unread_folders();
    std::sort(unread.begin(), unread.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
    return std::move(tree_);
  }

  FileSystem& fs_;
  const std::string root_;
  const TreeOptions& options_;
  const Filter filter_;
  Tree tree_;
  std::vector<std::pair<v1::FileEntry, FileInfo>> found_;
  std::vector<Folder> folders_;  // all ever entered: `parent` points here
  std::vector<int> open_;        // still to be read
  std::set<FileId> visited_;
  bool overflow_ = false;
};

}  // namespace

std::string PathOnDisk(absl::string_view root, bool root_is_file, absl::string_view path) {
  return root_is_file || path.empty() ? std::string(root) : JoinPath(root, path);
}

absl::StatusOr<Tree> WalkTree(FileSystem& fs, absl::string_view root, const TreeOptions& options) {
  return Walker(fs, root, options).Run();
}

}  // namespace paritect
