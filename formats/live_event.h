// An event of a live comparison as JSON: what a webhook is sent and what `paritect audit events` prints.
#ifndef PARITECT_FORMATS_LIVE_EVENT_H_
#define PARITECT_FORMATS_LIVE_EVENT_H_

#include <string>

#include "paritect/v1/fleet.pb.h"

namespace paritect {

// One object on one line (docs/audits.md, "Live comparison"). Bytes that are not UTF-8 become U+FFFD.
std::string LiveEventJson(const v1::LiveEvent& event);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LIVE_EVENT_H_
