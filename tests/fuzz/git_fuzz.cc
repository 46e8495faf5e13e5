// What git keeps in a repository that somebody else wrote: its index, and the beginning of a commit's object.
#include "formats/git_objects.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const auto entries = ReadGitIndex(bytes);
  if (entries.ok()) FuzzCheck(GitTreeId(*entries).size() == kGitIdBytes, "an index that was read makes a tree");
  for (const auto& tree : {TreeOfLooseCommit(bytes), TreeOfPackedCommit(bytes)}) {
    if (tree.ok()) FuzzCheck(tree->size() == kGitIdBytes, "a tree has its id");
  }
  return 0;
}
