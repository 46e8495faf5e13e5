// Path patterns of plans and of include/exclude lists. Patterns and paths are bytes.
#ifndef PARITECT_COMMON_GLOB_H_
#define PARITECT_COMMON_GLOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"

namespace paritect {

// '*' and '?' do not cross '/'; "**/" matches any number of folders, none included; a last "**"
// matches everything below; "[a-z]" and "[!a-z]" one byte. A pattern without '/' matches the whole
// relative path, as the others do. Linear in memory, no recursion on input.
bool GlobMatch(absl::string_view pattern, absl::string_view path);

// Values read off a name: {rank} and {epoch} are decimal numbers (leading zeros allowed), {node} is
// any text without '/'.
struct PathCaptures {
  std::optional<std::int32_t> rank;
  std::optional<std::int32_t> epoch;
  std::string node;
};

struct PathMatch {
  std::string path;
  PathCaptures captures;
};

// Whether the text holds a wildcard or a {placeholder}: then it may match nothing; else it must be there.
bool IsPathPattern(absl::string_view text);

// All paths that fit, with their captures ({rank} twice must agree), sorted by rank, then by bytes. Without a pattern: the path itself, if it is
// there. NotFound: a plain path that is not there. PermissionDenied: a folder on the way cannot be listed.
// ResourceExhausted: more than `matches_max`.
absl::StatusOr<std::vector<PathMatch>> ExpandPathPattern(FileSystem& fs, absl::string_view pattern,
                                                         std::size_t matches_max = 1'000'000);

}  // namespace paritect

#endif  // PARITECT_COMMON_GLOB_H_
