#include "common/memory_file_system.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace paritect {
namespace {
constexpr int kLinksFollowedMax = 40;  // as Linux
}  // namespace

class MemoryFileSystem::OpenFile : public File {
 public:
  explicit OpenFile(Node& node) : node_(node) {}

  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    const std::size_t n = std::min(buffer.size(), node_.bytes.size() - std::min(offset_, node_.bytes.size()));
    if (n > 0) std::memcpy(buffer.data(), node_.bytes.data() + offset_, n);
    offset_ += n;
    if (node_.changes) {
      node_.changes = false;
      node_.bytes = node_.change;
      node_.info.size_bytes = node_.bytes.size();
      ++node_.info.mtime_ns;
      ++node_.info.ctime_ns;
    }
    return n;
  }

  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    if (offset >= node_.bytes.size()) return std::size_t{0};
    const std::size_t n = std::min<std::size_t>(buffer.size(), node_.bytes.size() - offset);
    std::memcpy(buffer.data(), node_.bytes.data() + offset, n);
    return n;
  }

  absl::StatusOr<FileInfo> Info() override { return node_.info; }

 private:
  Node& node_;
  std::size_t offset_ = 0;
};

std::string MemoryFileSystem::Normal(absl::string_view path) {
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return absl::StrJoin(parts, "/");
}

MemoryFileSystem::Node& MemoryFileSystem::Add(absl::string_view path, FileInfo::Type type) {
  const std::string name = Normal(path);
  auto [it, added] = nodes_.try_emplace(name);
  if (added) {
    it->second.info.inode = next_inode_++;
    if (!name.empty()) {
      const absl::string_view parent = DirName(name);
      Node& folder = Add(parent, FileInfo::Type::kDirectory);
      folder.children.emplace_back(BaseName(name));
    }
  }
  Node& node = nodes_[name];
  node.info.type = type;
  return node;
}

void MemoryFileSystem::AddFile(absl::string_view path, absl::string_view bytes) {
  Node& node = Add(path, FileInfo::Type::kRegular);
  node.bytes = std::string(bytes);
  node.info.size_bytes = bytes.size();
}

void MemoryFileSystem::SetOwner(absl::string_view path, std::uint32_t owner, std::uint32_t mode) {
  FileInfo& info = nodes_[Normal(path)].info;
  info.owner = owner;
  info.mode = mode;
}

void MemoryFileSystem::AddDirectory(absl::string_view path) { Add(path, FileInfo::Type::kDirectory); }

void MemoryFileSystem::AddSymlink(absl::string_view path, absl::string_view target) {
  Add(path, FileInfo::Type::kSymlink).bytes = std::string(target);
}

void MemoryFileSystem::AddSpecial(absl::string_view path) { Add(path, FileInfo::Type::kSpecial); }

void MemoryFileSystem::MakeUnreadable(absl::string_view path) { nodes_[Normal(path)].unreadable = true; }

void MemoryFileSystem::ChangeWhileRead(absl::string_view path, absl::string_view new_bytes) {
  Node& node = nodes_[Normal(path)];
  node.changes = true;
  node.change = std::string(new_bytes);
}

absl::StatusOr<std::string> MemoryFileSystem::Resolve(absl::string_view path, bool follow_last) const {
  std::string current = Normal(path);
  for (int links = 0; links < kLinksFollowedMax; ++links) {
    std::string prefix;
    bool replaced = false;
    const std::vector<std::string> parts = absl::StrSplit(current, '/', absl::SkipEmpty());
    for (std::size_t i = 0; i < parts.size() && !replaced; ++i) {
      const std::string parent = prefix;
      prefix = JoinPath(prefix, parts[i]);
      auto it = nodes_.find(prefix);
      if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("stat ", path, ": No such file or directory"));
      const bool last = i + 1 == parts.size();
      if (it->second.info.type != FileInfo::Type::kSymlink || (last && !follow_last)) continue;
      std::string target = JoinPath(parent.empty() ? "." : parent, it->second.bytes);
      for (std::size_t k = i + 1; k < parts.size(); ++k) target = JoinPath(target, parts[k]);
      current = Normal(target);
      replaced = true;
    }
    if (!replaced) return current;
  }
  return absl::FailedPreconditionError(absl::StrCat("stat ", path, ": Too many levels of symbolic links"));
}

absl::StatusOr<std::unique_ptr<File>> MemoryFileSystem::Open(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string name, Resolve(path, true));
  auto it = nodes_.find(name);
  if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("open ", path, ": No such file or directory"));
  if (it->second.unreadable) return absl::PermissionDeniedError(absl::StrCat("open ", path, ": Permission denied"));
  if (it->second.info.type != FileInfo::Type::kRegular) {
    return absl::FailedPreconditionError(absl::StrCat("open ", path, ": not a regular file"));
  }
  return std::make_unique<OpenFile>(it->second);
}

absl::StatusOr<FileInfo> MemoryFileSystem::Stat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string name, Resolve(path, true));
  auto it = nodes_.find(name);
  if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("stat ", path, ": No such file or directory"));
  return it->second.info;
}

absl::StatusOr<FileInfo> MemoryFileSystem::LStat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string name, Resolve(path, false));
  auto it = nodes_.find(name);
  if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("stat ", path, ": No such file or directory"));
  return it->second.info;
}

absl::Status MemoryFileSystem::List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  PARITECT_ASSIGN_OR_RETURN(std::string name, Resolve(path, true));
  auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.info.type != FileInfo::Type::kDirectory) {
    return absl::NotFoundError(absl::StrCat("list ", path, ": not a folder"));
  }
  if (it->second.unreadable) return absl::PermissionDeniedError(absl::StrCat("list ", path, ": Permission denied"));
  for (const std::string& child : it->second.children) entry(DirectoryEntry{child});
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryFileSystem::ReadLink(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string name, Resolve(path, false));
  auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.info.type != FileInfo::Type::kSymlink) {
    return absl::FailedPreconditionError(absl::StrCat("read link ", path, ": not a link"));
  }
  return it->second.bytes;
}

}  // namespace paritect
