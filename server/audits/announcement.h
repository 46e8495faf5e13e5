// What an audit's webhook is told of a run that was judged.
#ifndef PARITECT_SERVER_AUDITS_ANNOUNCEMENT_H_
#define PARITECT_SERVER_AUDITS_ANNOUNCEMENT_H_

#include <optional>
#include <string>

#include "paritect/v1/fleet.pb.h"

namespace paritect {

// JSON; nullopt: nothing that a person would want to know without looking (another verdict, silent nodes, a failure; of
// the first run its verdict).
std::optional<std::string> Announcement(const v1::AuditRun& run);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_ANNOUNCEMENT_H_
