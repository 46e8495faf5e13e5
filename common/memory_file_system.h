// A file system in memory, for tests: files, folders, links, special files, unreadable ones.
#ifndef PARITECT_COMMON_MEMORY_FILE_SYSTEM_H_
#define PARITECT_COMMON_MEMORY_FILE_SYSTEM_H_

#include <map>
#include <set>
#include <string>

#include "common/file_system.h"

namespace paritect {

// Folders exist where a file stands below them. Listing order is the order of addition, so that
// tests can show that nothing depends on it. Not thread-safe.
class MemoryFileSystem : public FileSystem {
 public:
  void AddFile(absl::string_view path, absl::string_view bytes);
  void AddDirectory(absl::string_view path);
  void AddSymlink(absl::string_view path, absl::string_view target);
  void AddSpecial(absl::string_view path);
  void SetOwner(absl::string_view path, std::uint32_t owner, std::uint32_t mode);
  // Opening or listing it is PermissionDenied.
  void MakeUnreadable(absl::string_view path);
  // The file's content and times become these after its first read.
  void ChangeWhileRead(absl::string_view path, absl::string_view new_bytes);

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override;
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override;
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override;

 private:
  struct Node {
    FileInfo info;
    std::string bytes;   // content, or a link's target
    std::string change;  // content after a read, where set
    bool changes = false;
    bool unreadable = false;
    std::vector<std::string> children;  // in order of addition
  };
  class OpenFile;

  static std::string Normal(absl::string_view path);
  Node& Add(absl::string_view path, FileInfo::Type type);
  // Follows links in every part of the path, the last one included if `follow_last`.
  absl::StatusOr<std::string> Resolve(absl::string_view path, bool follow_last) const;

  std::map<std::string, Node> nodes_;
  std::uint64_t next_inode_ = 1;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_MEMORY_FILE_SYSTEM_H_
