// References between the values of one configuration, as OmegaConf (Hydra, verl) resolves them.
#ifndef PARITECT_FORMATS_SETTINGS_FORMS_INTERPOLATION_H_
#define PARITECT_FORMATS_SETTINGS_FORMS_INTERPOLATION_H_

#include "paritect/v1/settings.pb.h"

namespace paritect {

// Puts values in the place of references:
//   ${a.b}, ${.b}, ${..b}    the key's value, typed; within a text its spelling; of a map every key below it
//   ${oc.env:NAME,DEFAULT}   the default, marked as such: the environment of the run may say otherwise
//   ${oc.decode:X}, ${oc.select:KEY,DEFAULT}   X; the key's value or the default
// What refers to nothing that is known (other resolvers, a loop) has no value and a note `unresolved_reference`.
// Bounded: 16 rounds, 10 000 keys made by references to maps.
void ResolveReferences(v1::SettingsDocument& document);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_FORMS_INTERPOLATION_H_
