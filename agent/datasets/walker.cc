#include "agent/datasets/walker.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kBatch = 512;  // names between two publications: hashing begins before a large folder is read

v1::Problem MakeProblem(absl::string_view id, absl::string_view source, absl::string_view why = "") {
  v1::Problem problem;
  problem.set_id(std::string(id));
  (*problem.mutable_args())["source"] = DisplayBytes(source);
  if (!why.empty()) (*problem.mutable_args())["why"] = DisplayBytes(why);
  return problem;
}

std::string Below(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, "/", name);
}

}  // namespace

std::string PathOnDisk(absl::string_view root, bool root_is_file, absl::string_view path) {
  return root_is_file || path.empty() ? std::string(root) : JoinPath(root, path);
}

// Include and exclude patterns, made uniform once.
class Walker::Filter {
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

void Walker::FilterList(const TreeOptions& options, v1::FileList& list) {
  if (options.include.empty() && options.exclude.empty()) return;
  const Filter filter(options);
  const auto left_out = [&](const v1::FileEntry& file) {
    if (!filter.Included(file.path()) || filter.Excluded(file.path())) return true;
    absl::string_view path = file.path();
    for (auto slash = path.rfind('/'); slash != absl::string_view::npos; slash = path.rfind('/')) {
      path = path.substr(0, slash);
      if (filter.Excluded(path)) return true;
    }
    return false;
  };
  auto& files = *list.mutable_files();
  files.erase(std::remove_if(files.begin(), files.end(), left_out), files.end());
}

Walker::Walker(FileSystem& fs, absl::string_view root, const TreeOptions& options, absl::Mutex& mutex, FileTable& table,
               Found found)
    : fs_(fs),
      root_(root),
      options_(options),
      filter_(std::make_shared<Filter>(options)),
      mutex_(mutex),
      table_(table),
      found_(std::move(found)),
      handles_(fs, root_) {}

absl::Status Walker::Start() {
  PARITECT_ASSIGN_OR_RETURN(FileInfo info, fs_.Stat(root_));
  if (info.type == FileInfo::Type::kRegular) {
    const absl::MutexLock lock(&mutex_);
    table_.root_is_file = true;
    table_.AddFolder(0, "");
    Name name = {.name = std::string(BaseName(root_)), .info = info};
    PublishOne(0, name, "");
    return absl::OkStatus();
  }
  if (info.type != FileInfo::Type::kDirectory) {
    return absl::FailedPreconditionError(absl::StrCat(DisplayBytes(root_), ": neither a folder nor a file"));
  }
  PARITECT_RETURN_IF_ERROR(handles_.Get({}).status());
  const absl::MutexLock lock(&mutex_);
  Enter(0, "", {info.device, info.inode});
  return absl::OkStatus();
}

void Walker::Enter(std::uint32_t parent, const std::string& name, FileId id) {
  open_.push_back(table_.AddFolder(parent, name));
  ids_.push_back(id);
  visited_.insert(id);
}

bool Walker::ReadOne() {
  std::uint32_t folder = 0;
  {
    const absl::MutexLock lock(&mutex_);
    if (open_.empty()) return false;
    folder = open_.back();
    open_.pop_back();
    ++reading_;
  }
  ReadFolder(folder);
  const absl::MutexLock lock(&mutex_);
  --reading_;
  return true;
}

absl::StatusOr<std::shared_ptr<Folder>> Walker::Handle(std::uint32_t folder) {
  if (auto open = handles_.GetOpen(folder); open != nullptr) return open;
  std::vector<FolderHandles::Part> chain;
  {
    const absl::MutexLock lock(&mutex_);
    for (std::uint32_t at = folder; at != 0; at = table_.ParentOf(at)) {
      chain.push_back({at, std::string(table_.FolderName(at))});
    }
  }
  return handles_.Get(chain);
}

absl::StatusOr<std::unique_ptr<File>> Walker::OpenFile(std::uint32_t row) {
  if (table_.root_is_file) return fs_.Open(root_);
  std::uint32_t folder = 0;
  std::string name;
  {
    const absl::MutexLock lock(&mutex_);
    folder = table_.row(row).folder;
    name = std::string(table_.NameOf(row));
  }
  PARITECT_ASSIGN_OR_RETURN(std::shared_ptr<Folder> handle, Handle(folder));
  return handle->Open(name);
}

void Walker::ReadFolder(std::uint32_t folder) {
  std::string path;
  {
    const absl::MutexLock lock(&mutex_);
    path = table_.FolderPath(folder);
  }
  std::vector<Name> names;
  bool empty = true;
  auto handle = Handle(folder);
  absl::Status status = handle.status();
  if (status.ok()) {
    status = (*handle)->List([&](const DirectoryEntry& entry) {
      empty = false;
      const std::string below = Below(path, entry.name);
      if (filter_->Excluded(below)) return;
      names.push_back(Look(**handle, folder, entry.name, below));
      if (names.size() >= kBatch) Publish(folder, names, path);
    });
  }
  Publish(folder, names, path);
  const absl::MutexLock lock(&mutex_);
  if (!status.ok()) {
    v1::UnreadFolder unread;
    unread.set_path(path);
    *unread.mutable_problem() = MakeProblem("source_unreadable", path, status.message());
    table_.unread_folders.push_back(std::move(unread));
  } else if (empty && !path.empty() && filter_->Included(path)) {
    Name name = {.name = std::string(table_.FolderName(folder)), .type = FileRow::kEmptyFolder};
    PublishOne(table_.ParentOf(folder), name, path);
  }
}

Walker::Name Walker::Look(Folder& folder, std::uint32_t number, const std::string& text, const std::string& path) {
  Name name = {.name = text};
  name.wanted = filter_->Included(path);
  auto info = folder.LStat(text);
  if (!info.ok()) {
    name.extra = std::make_unique<FileExtra>();
    name.extra->error = MakeProblem("source_unreadable", path, info.status().message());
    name.extra->has_error = true;
    return name;
  }
  name.info = *info;
  switch (info->type) {
    case FileInfo::Type::kDirectory: name.enter = true; break;
    case FileInfo::Type::kSymlink: LookAtLink(folder, number, path, name); break;
    case FileInfo::Type::kRegular: break;
    case FileInfo::Type::kSpecial: name.type = FileRow::kSpecial; break;
  }
  return name;
}

void Walker::LookAtLink(Folder& folder, std::uint32_t number, const std::string& path, Name& name) {
  name.extra = std::make_unique<FileExtra>();
  FileExtra& extra = *name.extra;
  extra.link_target = folder.ReadLink(name.name).value_or("");
  auto target = folder.Stat(name.name);
  if (target.ok() && target->type == FileInfo::Type::kRegular) {
    name.info = *target;
    return;
  }
  name.type = target.ok() && target->type == FileInfo::Type::kSpecial ? FileRow::kSpecial : FileRow::kSymlink;
  if (target.ok() && target->type == FileInfo::Type::kDirectory) {
    const FileId id = {target->device, target->inode};
    name.info = *target;
    extra.loop = LeadsBack(number, id);
    if (options_.follow_symlinks && !extra.loop) {
      name.enter = true;
      name.extra.reset();
    } else if (!extra.loop) {
      extra.unseen_folder = true;
      extra.target = id;
    }
  } else if (absl::IsNotFound(target.status()) || absl::IsFailedPrecondition(target.status())) {
    extra.dangling = true;
  } else if (!target.ok()) {
    // Whatever lies behind it was not seen: it may be a folder with any number of files.
    extra.error = MakeProblem("source_unreadable", path, target.status().message());
    extra.has_error = name.unread = true;
  }
}

bool Walker::LeadsBack(std::uint32_t folder, FileId id) {
  const absl::MutexLock lock(&mutex_);
  for (;; folder = table_.ParentOf(folder)) {
    if (ids_[folder] == id) return true;
    if (folder == 0) return false;
  }
}

void Walker::Publish(std::uint32_t folder, std::vector<Name>& names, const std::string& path) {
  const absl::MutexLock lock(&mutex_);
  for (Name& name : names) {
    if (name.enter) {
      Enter(folder, name.name, {name.info.device, name.info.inode});
    } else if (name.wanted) {
      PublishOne(folder, name, path);
    }
  }
  names.clear();
}

void Walker::PublishOne(std::uint32_t folder, Name& name, const std::string& path) {
  if (table_.size() >= options_.entries_max) {
    if (!overflow_) table_.incomplete.push_back(MakeProblem("dataset_too_many_files", root_));
    overflow_ = true;
    open_.clear();
    return;
  }
  const std::uint32_t at = table_.Add(folder, name.name);
  FileRow& row = table_.row(at);
  row.type = name.type;
  row.size_bytes = name.type == FileRow::kRegular ? name.info.size_bytes : 0;
  if (name.unread) {
    v1::UnreadFolder unread;
    unread.set_path(Below(path, name.name));
    *unread.mutable_problem() = name.extra->error;
    table_.unread_folders.push_back(std::move(unread));
  }
  if (name.extra != nullptr) {
    const bool failed = name.extra->has_error;
    if (failed) row.flags |= FileRow::kNotRead;
    if (name.type == FileRow::kRegular && !failed) row.flags |= FileRow::kFollowed;
    table_.extras[at] = std::move(*name.extra);
  }
  if (name.type == FileRow::kRegular && !row.is(FileRow::kNotRead)) found_(at, name.info);
}

// A folder link that was not entered leaves content unseen, unless the walk came there anyway.
void Walker::MarkUnseenFolders() {
  const absl::MutexLock lock(&mutex_);
  for (auto& [at, extra] : table_.extras) {
    if (!extra.unseen_folder || visited_.contains(extra.target)) continue;
    extra.has_error = true;
    extra.error = MakeProblem("folder_link_not_entered", table_.PathOf(at));
    (*extra.error.mutable_args())["target"] = DisplayBytes(extra.link_target);
  }
}

}  // namespace paritect
