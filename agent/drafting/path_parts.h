// What the names on a path say: whose a file is (rank, epoch, node), of which step, and which folders are runs of their
// own. Words: rules/data/folder_words.yaml.
#ifndef PARITECT_AGENT_DRAFTING_PATH_PARTS_H_
#define PARITECT_AGENT_DRAFTING_PATH_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

// A path of a plan with {rank} and {epoch} in place of the numbers that say so. Without such a number, or where the
// path holds a character of patterns elsewhere: the path itself.
struct RankedPath {
  std::string pattern;
  std::optional<std::int64_t> rank;
};
RankedPath RankedPathOf(const std::string& path);

// The step that the path tells, from its last name that tells one; 0 for initial weights.
std::optional<std::int64_t> StepOf(absl::string_view path);

// The folder of one run of a recorder ("wandb/run-1", "mlruns/0"); "" outside of them.
std::string RecordersRunOf(absl::string_view path);

// The first folder on the path that is named as a node ("node0", "host-3"); "" where there is none.
std::string NodeFolderOf(absl::string_view path);

// Of paths that hold loss curves: the sibling folders that each are a run of their own; none where all are of one run.
// Folders of ranks and nodes, and those named for a kind of evidence, are no runs.
std::vector<std::string> RunFolders(const std::vector<std::string>& curves);

// Whether a folder on the path is none of these, so that what lies in it may be of a run of its own.
bool LiesInARunsFolder(absl::string_view path);

// Whether sibling folders hold ranks of one run: every one names some, and none is named twice. Then they are nodes.
bool HoldOtherRanks(const std::vector<std::string>& folders, const std::vector<std::string>& paths);

// "a/b" is below "a"; everything is below "".
bool StandsBelow(absl::string_view path, absl::string_view folder);
// "" for a name without a folder.
std::string FolderOf(absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_PATH_PARTS_H_
