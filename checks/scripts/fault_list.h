// The faults that one script's flow shows, collected by the units beside this one: one unit a concern.
#ifndef PARITECT_CHECKS_SCRIPTS_FAULT_LIST_H_
#define PARITECT_CHECKS_SCRIPTS_FAULT_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "checks/check.h"
#include "checks/scripts/flow.h"

namespace paritect {

struct ScriptFault {
  absl::string_view check;    // "data.sharding.order-hazard"
  absl::string_view message;  // id of the catalogue
  v1::Severity severity = v1::SEVERITY_ERROR;
  const v1::ScriptFact* fact = nullptr;  // where it stands
  MessageArgs args;
  std::vector<const v1::ScriptFact*> evidence;  // further places
  // Only a difference between the sides is an error: where both have it, their runs are alike.
  bool shared_is_warning = false;
};

class FaultList {
 public:
  explicit FaultList(const ScriptFlow& flow) : flow_(flow) {}

  const ScriptFlow& flow() const { return flow_; }
  // The message gets {place} and {call} of the fact besides the arguments. Valid until the next one is added.
  ScriptFault& Add(absl::string_view check, absl::string_view message, const v1::ScriptFact& fact,
                   MessageArgs args = {});
  std::vector<ScriptFault> Take() { return std::move(faults_); }

 private:
  const ScriptFlow& flow_;
  std::vector<ScriptFault> faults_;
};

// data.sharding.order-hazard, data.preprocessing.host-dependent, .shuffle
void FindOrderFaults(FaultList& list);
// training.flow.state, model.hyperparameters.learning-rate
void FindUpdateFaults(FaultList& list);
// training.flow.evaluation
void FindModeFaults(FaultList& list);
// mixed-precision.single-mechanism, loss-scale.enabled of either side
void FindPrecisionFaults(FaultList& list);
// training.flow.distributed, .initial-weights
void FindParallelFaults(FaultList& list);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_FAULT_LIST_H_
