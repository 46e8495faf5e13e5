// The machine's file system, of which only allowed folders can be seen: whatever a plan or a server names,
// nothing else is opened, listed or even said to exist.
#ifndef PARITECT_COMMON_ROOTED_FILE_SYSTEM_H_
#define PARITECT_COMMON_ROOTED_FILE_SYSTEM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/file_system.h"

namespace paritect {

// Paths must be absolute; "." and ".." are resolved by their spelling before the kernel sees them. What is
// opened is checked after the opening, by the place that the kernel gives for the open descriptor
// (/proc/self/fd), and only then read through that same descriptor: a symbolic link that leads out of the
// roots, or a folder that is exchanged for one at the right moment, opens nothing. Without /proc, openat2
// with RESOLVE_BENEATH does the same (links that lead from one root into another are then refused too);
// without both, everything is refused. A link from one root into another is allowed.
//
// Refused: PermissionDenied "…: outside the allowed roots: add FOLDER to roots: in the agent's configuration".
// It is the same answer whether or not the path exists. A hard link or a bind mount inside a root is inside.
//
// Thread-safe. A root need not exist yet when this is made; a root that is a symbolic link allows its target.
class RootedFileSystem : public FileSystem {
 public:
  // How a path is proved to be inside. kBeneath: as where /proc is not mounted.
  enum class Proof { kKernelName, kBeneath };

  // Absolute folders; "/" allows everything. Those that are not absolute allow nothing.
  explicit RootedFileSystem(std::vector<std::string> roots, Proof proof = Proof::kKernelName);

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override;
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override;
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override;
  // What a name in a folder proved to be inside leads to is inside too, but for links, which are proved by their path.
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(absl::string_view path) override;
  DiskInfo Disk(absl::string_view path) override;

 private:
  enum class LastLink { kFollow, kStay };
  // A descriptor (O_PATH) of what `path` names, proved to be inside the roots.
  absl::StatusOr<int> OpenInside(absl::string_view path, LastLink last);
  absl::StatusOr<int> OpenBeneath(absl::string_view path, absl::string_view normal, int flags);
  bool LooksBelow(absl::string_view normal) const;  // by spelling
  bool LooksInside(absl::string_view normal);       // the same, or below what a root is a link to
  // Whether the kernel's own name of an open file is inside a root; roots that are links are looked up.
  bool IsInside(absl::string_view real);
  // NotFound is said only of places inside the roots.
  absl::Status Explain(int error, absl::string_view path, absl::string_view normal);
  absl::Status Refuse(absl::string_view path, absl::string_view needed) const;

  const std::vector<std::string> roots_;  // spelled without ".", ".." and a last '/'
  const Proof proof_;
  absl::Mutex mutex_;
  std::map<std::string, std::string> real_roots_ ABSL_GUARDED_BY(mutex_);  // root -> where it really is
};

// "/a/./b//../c" is "/a/c"; ".." above "/" is "/". Spelling only: no link is looked at.
std::string NormalPath(absl::string_view path);

// The folder that relative paths of this process start from; "": it is gone.
std::string WorkingDirectory();

// Whether `path` is `folder` or stands below it; both as NormalPath gives them.
bool IsBelow(absl::string_view path, absl::string_view folder);

}  // namespace paritect

#endif  // PARITECT_COMMON_ROOTED_FILE_SYSTEM_H_
