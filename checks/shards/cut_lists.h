// Plain lists that were cut in their copy: what stands behind the cut is unknown, not unread.
#ifndef PARITECT_CHECKS_SHARDS_CUT_LISTS_H_
#define PARITECT_CHECKS_SHARDS_CUT_LISTS_H_

#include "checks/shards/lists.h"

namespace paritect {

// Finds lists whose last line has no line end and that end in the middle of a name: the last entry is none of the other
// side's (nor of the data set's list, `declared`) but begins one of them; or the list is as the other side's of that
// rank, as far as it goes. ('\n'.join(names) has no last line end either, and is whole.) Takes the cut name away.
void MarkCutLists(ShardPair& pair, const std::vector<ItemId>& declared);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_CUT_LISTS_H_
