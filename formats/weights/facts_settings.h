// What a checkpoint tells of how it was trained, as settings.
#ifndef PARITECT_FORMATS_WEIGHTS_FACTS_SETTINGS_H_
#define PARITECT_FORMATS_WEIGHTS_FACTS_SETTINGS_H_

#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// Arguments of the launch (`args.`, `hyper_parameters.`, `ds_config.`) under their own names, and what an optimizer was
// set to (betas, eps, weight_decay, momentum; `initial_lr` as lr). Values that move while it trains (lr, loss scale)
// are none: they stay facts. `label` names the checkpoint. Empty where it tells nothing.
v1::SettingsDocument FactsAsSettings(const v1::Weights& weights, absl::string_view label);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_FACTS_SETTINGS_H_
