// Causes as a terminal shows them: both values, where they stand, what to do, what follows.
#ifndef PARITECT_CLIENT_RENDER_TABLE_CAUSES_H_
#define PARITECT_CLIENT_RENDER_TABLE_CAUSES_H_

#include <string>
#include <vector>

#include "checks/explaining/causes.h"
#include "client/report/renderer.h"

namespace paritect {

// The causes in at most `lines` lines: in full where they fit, else fewer findings and consequences of each, else a
// line each, else the first of them and how many more there are. 0 lines: no limit, everything. Ends with a line break.
std::string CausesText(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
                       std::size_t lines);

// Whether each of them can be told by itself in so many lines.
bool CausesFit(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
               std::size_t lines);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RENDER_TABLE_CAUSES_H_
