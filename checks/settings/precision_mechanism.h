// How a run makes mixed precision: which mechanisms are on, of which level and type.
#ifndef PARITECT_CHECKS_SETTINGS_PRECISION_MECHANISM_H_
#define PARITECT_CHECKS_SETTINGS_PRECISION_MECHANISM_H_

#include <string>
#include <vector>

#include "checks/settings/view.h"

namespace paritect {

// `kind`: "option" the library's own fp16/bf16 option or compute type (Megatron, DeepSpeed, Transformers, MindFormers)
// · "apex" apex.amp levels · "amp" an automatic mode of the framework · "graph" a mode of the graph engine
// (allow_mix_precision*, mixed_*) or TensorFlow's rewrite · "amp_level" MindSpore's amp level · "casts" by hand, where
// an option of the program turns them on.
struct Mechanism {
  std::string kind;
  std::string level;  // "o2"; "" where there is one level
  std::string evidence;
};

std::vector<Mechanism> MechanismsOf(const Rules& rules, const SettingsView& view);

// Whether the run's logs print a loss scale or skipped steps: then fp16 with a scaler is on.
bool LogsShowLossScale(const RunView& run, std::string& evidence);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_PRECISION_MECHANISM_H_
