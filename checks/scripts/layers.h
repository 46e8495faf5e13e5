// The layers of a network as the scripts define them, in the order in which they are made.
#ifndef PARITECT_CHECKS_SCRIPTS_LAYERS_H_
#define PARITECT_CHECKS_SCRIPTS_LAYERS_H_

#include <string>
#include <vector>

#include "checks/scripts/flow.h"

namespace paritect {

struct ScriptLayer {
  double value = 0;      // of dropout: the share that is dropped, whatever the argument says
  std::string written;   // "0.8"
  std::string argument;  // "keep_prob"
  std::string origin;    // "net.py:12", "net.py:12, default of BatchNorm2d"
  bool known = false;    // else `written` is the text of the argument
};

// Of a canonical key: batchnorm_momentum, batchnorm_eps, dropout_p, layernorm_eps, optimizer_momentum.
std::vector<ScriptLayer> ScriptLayersOf(const ScriptFlow& flow, absl::string_view key);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_LAYERS_H_
