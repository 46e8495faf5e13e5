// What stands in the evidence for a node that gave nothing: each source of its plan as failed, so that every check
// sees by
// itself what it lacks and none can pass without it.
#ifndef PARITECT_SERVER_AUDITS_SILENT_BUNDLE_H_
#define PARITECT_SERVER_AUDITS_SILENT_BUNDLE_H_

#include "absl/strings/string_view.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

// `refused`: why the node would not run the plan; empty: it did not report.
v1::Bundle SilentBundle(const v1::Plan& plan, absl::string_view node, absl::string_view refused);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_SILENT_BUNDLE_H_
