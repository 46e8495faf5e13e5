// Run segments of lists that stand in one file a rank: each file counts its own resumes, and a rank that the first
// world did not have begins with the second.
#ifndef PARITECT_CHECKS_SHARDS_SEGMENTS_H_
#define PARITECT_CHECKS_SHARDS_SEGMENTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checks/evidence_set.h"

namespace paritect {

class SegmentMap {
 public:
  // Over all shard lists of that label in the run. Segments are matched by the world size that they state, from the
  // last backwards; where none is stated they stay as they are.
  SegmentMap(const RunView& run, const std::string& dataset);

  // The segment of the run that segment `segment` of this list is.
  int Of(const v1::Bundle& bundle, const v1::Evidence& evidence) const;

 private:
  using Source = std::pair<const v1::Bundle*, std::string>;
  static Source SourceOf(const v1::Bundle& bundle, const v1::Evidence& evidence);

  std::map<Source, std::map<int, int>> segments_;  // a file's own number: the run's
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_SEGMENTS_H_
