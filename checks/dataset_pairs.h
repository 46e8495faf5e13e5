// Data sets of the two sides, paired by name; what the data.dataset checks share.
#ifndef PARITECT_CHECKS_DATASET_PAIRS_H_
#define PARITECT_CHECKS_DATASET_PAIRS_H_

#include <map>
#include <string>
#include <vector>

#include "checks/evidence_set.h"

namespace paritect {

// Entries by path bytes; parts of several nodes united.
using FilesByPath = std::map<std::string, const v1::FileEntry*>;

struct DatasetPair {
  std::string name;
  FilesByPath baseline;
  FilesByPath migrated;
};

std::vector<DatasetPair> PairDatasets(const EvidenceSet& evidence);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASET_PAIRS_H_
