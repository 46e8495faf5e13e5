// The networks and losses that the scripts of both sides make, held against each other: a layer of another kind, a
// layer with another argument, another loss.
#ifndef PARITECT_CHECKS_SCRIPTS_NETWORK_H_
#define PARITECT_CHECKS_SCRIPTS_NETWORK_H_

#include <string>
#include <vector>

#include "checks/scripts/flow.h"

namespace paritect {

struct NetworkDifference {
  std::string what;      // "relu", "layer 3 (Linear) out_features", "loss label_smoothing"
  std::string baseline;  // "-": none
  std::string migrated;
  const v1::ScriptFact* place_baseline = nullptr;
  const v1::ScriptFact* place_migrated = nullptr;
};

struct NetworkComparison {
  std::vector<NetworkDifference> replaced;   // a kind of layer that only one side has, and the other has another
  std::vector<NetworkDifference> one_sided;  // a kind of layer that only one side has
  std::vector<NetworkDifference> arguments;  // of layers made in the same order
};

// Frameworks may differ: then the activations alone are compared, whose names are everywhere the same.
NetworkComparison CompareNetworks(const ScriptFlow& baseline, const ScriptFlow& migrated);

struct LossComparison {
  std::vector<NetworkDifference> differ;
  std::vector<std::string> open;  // whether they are alike is not known
};

// Of one framework; of losses that both sides make alike nothing is said.
LossComparison CompareLosses(const ScriptFlow& baseline, const ScriptFlow& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_NETWORK_H_
