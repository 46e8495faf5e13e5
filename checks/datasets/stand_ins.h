// Files that stand in for data: two equal ones say nothing of the data itself.
#ifndef PARITECT_CHECKS_DATASETS_STAND_INS_H_
#define PARITECT_CHECKS_DATASETS_STAND_INS_H_

#include "checks/datasets/pairs.h"

namespace paritect {

// Where most files are pages, pages are the data (a crawl), not what a server answered in place of it.
bool IsSetOfPages(const DatasetView& view);

// A pointer of Git LFS, or a page that a server answered with. `pages_are_data`: IsSetOfPages of either side.
bool StandsForData(const v1::FileEntry& entry, bool pages_are_data);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_STAND_INS_H_
