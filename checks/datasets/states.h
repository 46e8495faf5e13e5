// Where two large files begin to differ, by the chaining states that were saved while they were hashed (proto:
// FileStates). Equal states at a byte mean equal beginnings up to there, so no file has to be read again.
#ifndef PARITECT_CHECKS_DATASETS_STATES_H_
#define PARITECT_CHECKS_DATASETS_STATES_H_

#include <cstdint>
#include <optional>

#include "checks/datasets/pairs.h"

namespace paritect {

struct StatesVerdict {
  std::uint64_t equal_until = 0;  // both begin alike up to here at least
  std::uint64_t differs_by = 0;   // the first difference stands before this byte, or before the end of the shorter one
  // The shorter file is a strict prefix of the longer one, to the byte.
  bool prefix = false;
};

// nullopt: one of them has no states, or none at a common place.
std::optional<StatesVerdict> CompareStates(const DatasetView& baseline_view, const NamedFile& baseline,
                                           const DatasetView& migrated_view, const NamedFile& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_STATES_H_
