// Why two files of one name differ: the most particular cause that the evidence proves.
#ifndef PARITECT_CHECKS_DATASETS_EXPLAIN_H_
#define PARITECT_CHECKS_DATASETS_EXPLAIN_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/datasets/difference.h"
#include "rules/messages.h"

namespace paritect {

enum class ContentVerdict {
  kEqual,
  kDiffers,
  kUnknown,  // a digest is missing and the sizes do not decide
};

// By MD5, else by SHA-256 where both have it; where one is missing, sizes or CRC-32 that differ decide. Two dangling
// links, folder links, special files:
// equal where there is nothing to compare, unknown where content should be.
ContentVerdict CompareContent(const v1::FileEntry& baseline, const v1::FileEntry& migrated);

// The digest after a law (proto: AlternateDigest); nullopt: not known, "" : the law does not apply.
std::optional<std::string> AlternateOf(const v1::FileEntry& entry, absl::string_view law);

// What else is known of the pair's data sets: whose content the migrated file holds instead.
struct ExplainContext {
  const DatasetDifference& difference;
  const DatasetView& baseline;
  const DatasetView& migrated;
  std::map<std::string, std::string> baseline_path_by_md5;  // only of contents found in differing files
};
ExplainContext MakeExplainContext(const DatasetDifference& difference, const DatasetView& baseline,
                                  const DatasetView& migrated);

struct Explanation {
  std::string message_id;  // its part before '/' is the finding's kind
  MessageArgs args;
};

// For a pair whose CompareContent is kDiffers.
Explanation ExplainContent(const FilePair& pair, const ExplainContext& context);

// Laws that would tell more, for each side; empty when the cause is clear without. A question costs at most
// reading the file once.
struct ContentQuestions {
  std::vector<std::string> baseline;
  std::vector<std::string> migrated;
};
ContentQuestions QuestionsFor(const FilePair& pair, const ExplainContext& context);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_EXPLAIN_H_
