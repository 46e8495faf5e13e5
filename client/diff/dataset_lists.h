// Data sets by path, for the commands that look at them without a plan: a folder is walked and hashed, a
// file is read as a list.
#ifndef PARITECT_CLIENT_DIFF_DATASET_LISTS_H_
#define PARITECT_CLIENT_DIFF_DATASET_LISTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/datasets/hash.h"
#include "agent/datasets/tree.h"
#include "checks/evidence_set.h"
#include "client/command.h"

namespace paritect {

inline constexpr std::uint64_t kManifestFileBytesMax = 1ull << 30;

// Walks and hashes the folder (or the one file) at `path`.
absl::StatusOr<v1::FileList> ReadDatasetTree(CommandEnv& env, const std::string& path, const TreeOptions& tree,
                                             const HashOptions& hash);

// Reads a list. InvalidArgument: of no known form. DataLoss: an empty file or a stand-in for one.
absl::StatusOr<v1::FileList> ReadDatasetManifest(CommandEnv& env, const std::string& path);

// A folder as a tree, a file as a list.
absl::StatusOr<v1::FileList> ReadDatasetAny(CommandEnv& env, const std::string& path, const TreeOptions& tree,
                                            const HashOptions& hash);

// Two lists as the two sides of an audit; what would explain differences is asked of the trees.
std::unique_ptr<EvidenceSet> PairLists(CommandEnv& env, v1::FileList baseline, v1::FileList migrated);

// What the list does not know, one text each: cut lines, folders and files that could not be read, links not followed.
struct ListGap {
  std::string id;  // message id
  v1::Text text;
};
std::vector<ListGap> GapsOf(const CommandEnv& env, const v1::FileList& list);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_DATASET_LISTS_H_
