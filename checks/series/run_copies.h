// Two runs that are one: the same log given twice, or copied.
#ifndef PARITECT_CHECKS_SERIES_RUN_COPIES_H_
#define PARITECT_CHECKS_SERIES_RUN_COPIES_H_

#include <optional>
#include <string>

#include "checks/series/run_series.h"

namespace paritect {

struct Copy {
  std::string source;        // of `run`
  std::string first_source;  // of `first`
  std::string how;           // "the same file", "the same bytes, times of day included"
};

// What shows that `run` is `first` again: one file, or equal bytes that hold times of day or measured durations, which
// no two trainings share. Equal losses alone show no copy: a deterministic training repeats them.
std::optional<Copy> CopyOf(const RunSeries& first, const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_RUN_COPIES_H_
