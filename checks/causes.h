// A finding that follows from another one stays, and names it: `facts.caused_by` is a list of {check, kind, subject}.
#ifndef PARITECT_CHECKS_CAUSES_H_
#define PARITECT_CHECKS_CAUSES_H_

#include "absl/strings/string_view.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

void AddCause(v1::Finding& finding, absl::string_view check, absl::string_view kind, absl::string_view subject);

}  // namespace paritect

#endif  // PARITECT_CHECKS_CAUSES_H_
