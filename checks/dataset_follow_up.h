// What the data.dataset checks would like to know of files that differ: asked once, where the files are at
// hand, before the checks run; without answers they say less, never something else.
#ifndef PARITECT_CHECKS_DATASET_FOLLOW_UP_H_
#define PARITECT_CHECKS_DATASET_FOLLOW_UP_H_

#include <string>
#include <vector>

#include "checks/evidence_set.h"

namespace paritect {

struct DatasetQuestion {
  Side side = Side::kBaseline;
  int bundle = 0;                 // index into the side's bundles
  int evidence = 0;               // index into the bundle's evidence: a FileList
  std::string path;               // of the list's entry, as bytes
  std::vector<std::string> laws;  // AlternateDigest laws
};

struct FollowUpLimits {
  std::size_t pairs_max = 300;
  std::uint64_t bytes_max = 16ull << 30;  // to be read, by the sizes known
};

// Only of walked trees (a list's files are elsewhere), in a fixed order.
std::vector<DatasetQuestion> DatasetQuestions(const EvidenceSet& evidence, const FollowUpLimits& limits = {});

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASET_FOLLOW_UP_H_
