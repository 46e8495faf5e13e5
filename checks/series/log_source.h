// One log among a run's evidence.
#ifndef PARITECT_CHECKS_SERIES_LOG_SOURCE_H_
#define PARITECT_CHECKS_SERIES_LOG_SOURCE_H_

#include "paritect/v1/evidence.pb.h"

namespace paritect {

struct LogSource {
  const v1::Bundle* bundle = nullptr;
  const v1::Evidence* evidence = nullptr;
  const v1::RunLog& log() const { return evidence->run_log(); }
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_LOG_SOURCE_H_
