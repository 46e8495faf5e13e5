// The plain values of a pickle as settings.
#ifndef PARITECT_FORMATS_SETTINGS_FORMS_PICKLE_SETTINGS_H_
#define PARITECT_FORMATS_SETTINGS_FORMS_PICKLE_SETTINGS_H_

#include "formats/pickle.h"
#include "formats/settings/builder.h"

namespace paritect {

// Adds what the root holds: dictionaries and the states of objects with keys joined by '.', lists of single values; an
// enum member or another call with one plain argument is that argument. Depth and number of visits are bounded.
void AddPickle(const Pickle& pickle, SettingsBuilder& builder);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_FORMS_PICKLE_SETTINGS_H_
