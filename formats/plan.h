// The collection plan: YAML (or JSON) to proto. The written form is fixed; see docs/plan.md.
#ifndef PARITECT_FORMATS_PLAN_H_
#define PARITECT_FORMATS_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

// Parses a plan. InvalidArgument "LINE:COLUMN: message" for an unknown or repeated key, a wrong type, a
// value outside its list. Relative paths are kept as written; `plan.base` is left to the caller. An empty
// document is a plan that collects nothing.
absl::StatusOr<v1::Plan> ParsePlan(absl::string_view text);

// The same of one map inside a larger document (an audit file's `plans`).
absl::StatusOr<v1::Plan> ReadPlan(const DocumentNode& node);

// As a plan writes it: "run" (also where nothing is stated), "fp32-reference", "published".
absl::string_view RoleWord(v1::Role role);

// "0-7,12" to {0..7, 12}; InvalidArgument for anything else, or more than a million ranks.
absl::StatusOr<std::vector<std::int32_t>> ParseRankRanges(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PLAN_H_
