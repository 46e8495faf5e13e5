// Two file lists against each other: what both name, what only one names, and which of the latter are one
// file under two names.
#ifndef PARITECT_CHECKS_DATASETS_DIFFERENCE_H_
#define PARITECT_CHECKS_DATASETS_DIFFERENCE_H_

#include <string>
#include <vector>

#include "checks/datasets/pairs.h"

namespace paritect {

struct FilePair {
  const NamedFile* baseline = nullptr;
  const NamedFile* migrated = nullptr;
  // How the names belong together: "" (equal), "unicode_form", "other_encoding", "case", "renamed", "moved".
  std::string how;
  std::string detail;  // other_encoding: the character set
};

// A baseline name that is gone while another that differs only in case is there.
struct CaseCollision {
  const NamedFile* gone = nullptr;      // baseline
  const NamedFile* kept = nullptr;      // baseline
  const NamedFile* survivor = nullptr;  // migrated, under the kept name
};

struct DatasetDifference {
  std::vector<FilePair> common;           // sorted by baseline path
  std::vector<FilePair> renamed;          // sorted by baseline path
  std::vector<const NamedFile*> missing;  // sorted; only where the migrated list speaks
  std::vector<const NamedFile*> extra;    // sorted; only where the baseline list speaks
  std::vector<CaseCollision> collisions;  // their `gone` is not in `missing`
};

// Pointers into the views.
DatasetDifference CompareViews(const DatasetView& baseline, const DatasetView& migrated);

bool HasFileHint(const v1::FileEntry& entry, v1::FileHint hint);

// Anything that has or should have content: no folder links, no loops.
bool IsDataFile(const v1::FileEntry& entry);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_DIFFERENCE_H_
