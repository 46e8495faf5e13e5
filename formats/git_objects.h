// What git keeps, read without git: a program that is asked in a repository runs what its configuration and its
// attributes name (filters, monitors, hooks), whoever wrote them. Described in gitformat-index(5), gitformat-pack(5).
// SHA-1 repositories. No I/O, bounded.
#ifndef PARITECT_FORMATS_GIT_OBJECTS_H_
#define PARITECT_FORMATS_GIT_OBJECTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

inline constexpr std::size_t kGitIdBytes = 20;
inline constexpr std::uint64_t kGitIndexBytesMax = 256u << 20;

// A tracked file, as the index holds it.
struct GitIndexEntry {
  std::string path;        // bytes, '/' between folders
  std::uint32_t mode = 0;  // 0100644, 0100755, 0120000 (link), 0160000 (submodule)
  std::string id;          // raw
  // What git saw of the file when it last compared it.
  std::uint32_t size = 0;
  std::uint32_t mtime_seconds = 0;
  std::uint32_t mtime_nanoseconds = 0;
  bool unmerged = false;
  bool not_there = false;  // by a sparse checkout, or only announced (git add -N)
};

// Versions 2 to 4. Unimplemented: a split or sparse index, another version. DataLoss: damaged (its checksum too).
absl::StatusOr<std::vector<GitIndexEntry>> ReadGitIndex(absl::string_view bytes);

// The id of the tree that these files (as in an index: sorted by path) make; raw.
std::string GitTreeId(absl::Span<const GitIndexEntry> entries);

// The id that content has as a file's.
std::string GitBlobId(absl::string_view content);

// The pointer that Git LFS keeps in the place of the content.
std::string GitLfsPointer(absl::string_view content);

// The tree of a commit, raw, from the beginning of a loose object file. DataLoss: it is no commit.
absl::StatusOr<std::string> TreeOfLooseCommit(absl::string_view bytes);
// The same from where the object begins in a pack. Unimplemented: it is kept as a difference to another.
absl::StatusOr<std::string> TreeOfPackedCommit(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_GIT_OBJECTS_H_
