// Data that is not the training set: every rank may read all of it, or one rank alone.
#ifndef PARITECT_CHECKS_SHARDS_EVALUATION_SET_H_
#define PARITECT_CHECKS_SHARDS_EVALUATION_SET_H_

#include "absl/strings/string_view.h"
#include "checks/shards/lists.h"

namespace paritect {

// Whether the label is of such a set: so declared, or so named where another set of that side is the training set.
bool IsEvaluationLabel(const EvidenceSet& evidence, absl::string_view dataset);

// Finds what of the pair is such data: all of it (`label`), or what lies in a first folder of such a name beside
// others. Where a side reads it whole it is moved from `items` to `evaluation`, on both sides, and the runs say how
// they read it. `declared`: the data set's list.
void SetEvaluationApart(ShardPair& pair, bool label, const std::vector<ItemId>& declared);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_EVALUATION_SET_H_
