// What an agent says of itself, as the rest of the server may take it: texts of a line's length that are valid UTF-8
// and show what they are, numbers that may be added, multiplied and drawn. Evidence is not touched.
#ifndef PARITECT_SERVER_AGENT_SAYS_H_
#define PARITECT_SERVER_AGENT_SAYS_H_

#include <cstdint>

#include "paritect/v1/fleet.pb.h"

namespace paritect {

// Of bytes, files, records, milliseconds: 0 to 2^53.
std::int64_t PlausibleCount(std::int64_t told);
// Unix milliseconds within the years that have four digits; 0: none was told.
std::int64_t PlausibleClock(std::int64_t told_unix_ms);
v1::SpoolState Plausible(const v1::SpoolState& told);
v1::TaskProgress Plausible(v1::TaskProgress told);

}  // namespace paritect

#endif  // PARITECT_SERVER_AGENT_SAYS_H_
