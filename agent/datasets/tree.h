// Walks a data set's root: every name below it, as bytes, sorted by bytes. Reads no content.
#ifndef PARITECT_AGENT_DATASETS_TREE_H_
#define PARITECT_AGENT_DATASETS_TREE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

struct TreeOptions {
  // GlobMatch patterns over paths relative to the root; a pattern that names a folder stands for
  // everything below it. No include: everything.
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  // True: links to folders are entered; a folder reached twice on one path is a loop, reported once.
  bool follow_symlinks = false;
  // More entries than this make the list incomplete (bounded memory).
  std::size_t entries_max = 50'000'000;
};

// What was found. files[i] and infos[i] belong together; md5 is not filled yet.
//   regular file        REGULAR with its size
//   link to a file      REGULAR, link_target set: the content it names counts
//   link to a folder    entered when followed; else SYMLINK, with `error` where its target is not walked anyway
//   dangling link       SYMLINK, hint DANGLING_LINK;   loop: SYMLINK, hint LINK_LOOP
//   FIFO, socket, device  SPECIAL, never opened
//   empty folder        DIRECTORY
struct Tree {
  v1::FileList list;
  std::vector<FileInfo> infos;
  bool root_is_file = false;
};

// Where a path of the list stands on disk.
std::string PathOnDisk(absl::string_view root, bool root_is_file, absl::string_view path);

// A root that is one file gives a list of that one name. NotFound, PermissionDenied ...: the root itself
// cannot be looked at. What cannot be read further down is evidence in the list (unread_folders, error).
absl::StatusOr<Tree> WalkTree(FileSystem& fs, absl::string_view root, const TreeOptions& options);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_TREE_H_
