// The audit file: which nodes are the baseline, which the migrated side, what to collect, how to judge. The written
// form
// is fixed; see docs/audits.md.
#ifndef PARITECT_FORMATS_AUDIT_FILE_H_
#define PARITECT_FORMATS_AUDIT_FILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/fleet.pb.h"
#include "rules/profile.h"

namespace paritect {

// InvalidArgument "LINE:COLUMN: message": an unknown or repeated key, a wrong type, a side without anything, plans
// without nodes. `source` of the result is the text itself.
absl::StatusOr<v1::AuditDefinition> ParseAuditFile(absl::string_view text);

// The profile that the audit names or holds inline, over the built-in one. InvalidArgument as above.
absl::StatusOr<Profile> ReadAuditProfile(const v1::AuditDefinition& definition, const Profile& built_in);

// A name of an audit, a run or a node as a key: 1 to 200 bytes of letters, digits, '.', '_', '-', '+', '@', ':'.
bool IsAuditName(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_FORMATS_AUDIT_FILE_H_
