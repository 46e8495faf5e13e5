// A folder of another file system seen as "/": a fixture tree in tests, a container's own files by
// /proc/PID/root on a node.
#ifndef PARITECT_COMMON_PREFIXED_FILE_SYSTEM_H_
#define PARITECT_COMMON_PREFIXED_FILE_SYSTEM_H_

#include <string>

#include "common/file_system.h"

namespace paritect {

// Links are followed as after chroot: an absolute target begins at the prefix, ".." stops there. This is a
// view, not a fence: who can change links meanwhile can lead out of it (common/rooted_file_system.h is the fence).
// Messages name the path below `base`. `base` must outlive this. Thread-safe where `base` is.
class PrefixedFileSystem : public FileSystem {
 public:
  PrefixedFileSystem(FileSystem& base, absl::string_view prefix);

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override;
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override;
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override;

  // Where `path` really is, all links followed, as an absolute path within the prefix. FailedPrecondition: a loop.
  // What is not there is taken as spelled.
  absl::StatusOr<std::string> RealPath(absl::string_view path);

 private:
  absl::StatusOr<std::string> Resolve(absl::string_view path, bool follow_last);

  FileSystem& base_;
  const std::string prefix_;  // without a last '/'
};

}  // namespace paritect

#endif  // PARITECT_COMMON_PREFIXED_FILE_SYSTEM_H_
