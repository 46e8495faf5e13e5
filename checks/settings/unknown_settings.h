// Arguments without a canonical name that two sources of one run state differently.
#ifndef PARITECT_CHECKS_SETTINGS_UNKNOWN_SETTINGS_H_
#define PARITECT_CHECKS_SETTINGS_UNKNOWN_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "checks/settings/view.h"

namespace paritect {

// By normalised name: the values of lower sources (a file under a log) that differ from the one in view.unknown().
std::map<std::string, std::vector<SourcedValue>> DisagreeingUnknown(const CheckContext& context,
                                                                    const SettingsView& view);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_UNKNOWN_SETTINGS_H_
