// In which state the code of a folder is: the revision that it was taken from and whether it was changed since. Read
// from the files that git keeps; git itself is never run, and nothing that a repository names is
// (formats/git_objects.h).
#ifndef PARITECT_AGENT_CODE_STATE_H_
#define PARITECT_AGENT_CODE_STATE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/file_system.h"

namespace paritect {

struct CodeState {
  std::string commit;         // hexadecimal
  std::optional<bool> dirty;  // whether tracked files differ from the commit; unset: not known, `unknown` says why
  std::string tree;           // the tree that the tracked files make as they stand; equal contents give equal ones
  std::string unknown;
};

// nullopt: the folder stands in no repository. Files that git has not tracked do not count. A file whose time and size
// are those of the index is not read (as git does it); another one counts as unchanged where its content, with line
// ends as LF, or as a pointer of Git LFS, is that of the index. What any other filter makes of a file is not known: it
// counts as changed once its time is another.
std::optional<CodeState> ReadCodeState(FileSystem& fs, absl::string_view folder);

// The revision alone of a repository whose working tree is `folder`; "" where there is none.
std::string GitCommit(FileSystem& fs, const std::string& folder);

}  // namespace paritect

#endif  // PARITECT_AGENT_CODE_STATE_H_
