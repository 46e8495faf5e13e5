// What of a data set's root is looked at.
#ifndef PARITECT_AGENT_DATASETS_TREE_H_
#define PARITECT_AGENT_DATASETS_TREE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

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

// How the names below a root become entries of a list (hash.h):
//   regular file        REGULAR with its size
//   link to a file      REGULAR, link_target set: the content it names counts
//   link to a folder    entered when followed; else SYMLINK, with `error` where its target is not walked anyway
//   dangling link       SYMLINK, hint DANGLING_LINK;   loop: SYMLINK, hint LINK_LOOP
//   FIFO, socket, device  SPECIAL, never opened
//   empty folder        DIRECTORY
// A root that is one file gives a list of that one name.

// Where a path of the list stands on disk.
std::string PathOnDisk(absl::string_view root, bool root_is_file, absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_TREE_H_
