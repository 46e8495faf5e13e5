// What becomes of the record of a holder (of a certificate: an agent or a person) when it enrols, calls, is revoked.
#ifndef PARITECT_SERVER_HOLDER_RECORD_H_
#define PARITECT_SERVER_HOLDER_RECORD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/fleet.pb.h"
#include "server/holder_journal.h"

namespace paritect {

absl::string_view RoleWord(v1::AccessRole role);

// `by`: ROLE/NAME; `reason`: as given, may be empty.
void MarkRevoked(absl::string_view by, absl::string_view reason, std::int64_t now_unix, v1::NodeRecord& record);

// PermissionDenied in words: revoked, or a certificate from before the holder was revoked and enrolled again.
absl::Status CheckHolder(const v1::NodeRecord& record, const v1::NodeRecord& peer);
// What `record` keeps of the holder's record before. AlreadyExists: that one is active, and `replace` is false.
// PermissionDenied: it was revoked, and `replace` is false.
absl::Status EnrolAgain(const v1::NodeRecord& before, bool replace, std::int64_t now_unix, v1::NodeRecord& record);

// The line that stands for what the record says now.
HolderLine HolderLineOf(HolderEvent event, const v1::NodeRecord& record, std::int64_t at_unix);
// What the line makes of the holder's record. In the order of the file, whatever the record said: it may be older than
// they are (a backup of the database was restored).
void ApplyHolderLine(const HolderLine& line, v1::NodeRecord& record);

}  // namespace paritect

#endif  // PARITECT_SERVER_HOLDER_RECORD_H_
