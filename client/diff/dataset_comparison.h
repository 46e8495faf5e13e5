// Two sides' data sets file by file, in words: what `manifest verify`, `manifest diff` and `diff data` print.
#ifndef PARITECT_CLIENT_DIFF_DATASET_COMPARISON_H_
#define PARITECT_CLIENT_DIFF_DATASET_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/evidence_set.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"

namespace paritect {

struct FileDifference {
  std::string kind;   // finding kind: "missing", "truncated", "moved"; "unknown": no digest decides
  std::string path;   // bytes; of A, where A has it
  std::string other;  // name on B where it is another one
  v1::Text message;   // why, where more than the kind is known
  std::optional<std::uint64_t> a_size;
  std::optional<std::uint64_t> b_size;
};

struct DatasetComparison {
  std::string name;
  std::string a_where;
  std::string b_where;
  std::vector<FileDifference> differences;  // by path
  std::vector<std::string> equal;           // paths
  int unknown = 0;                          // of the differences
  int by_crc32 = 0;                         // of the equal ones: only CRC-32 agrees, all that an SFV list states
  bool incomplete = false;  // a list is cut, or a part stands alone: what it does not name was not judged
  bool only_a = false;      // the other side has no set of that name
  bool only_b = false;
};

// One entry a name and migrated holder. Data sets that stand alone are entries without differences.
std::vector<DatasetComparison> CompareDatasets(const EvidenceSet& evidence, const Rules& rules);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_DATASET_COMPARISON_H_
