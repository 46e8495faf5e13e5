// Runs that are known to be one process: a launch script that starts one script once, and a script that can start,
// join or ask for no others (formats/python/process_proof.h).
#ifndef PARITECT_CHECKS_SCRIPTS_ONE_PROCESS_H_
#define PARITECT_CHECKS_SCRIPTS_ONE_PROCESS_H_

#include <optional>
#include <string>

#include "checks/evidence_set.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// world_size = 1 with what proves it as its origin; nullopt where anything is lacking, or speaks of another process: a
// second node, a rank, a variable of a launcher, a script or a launch that was not read whole.
std::optional<v1::Setting> ProvenOneProcess(const RunView& run);

// Why a script that was read is not known to be one process: "train.py:12: import horovod"; "" where it is, or where
// no script tells.
std::string WhyNotOneProcess(const RunView& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_ONE_PROCESS_H_
