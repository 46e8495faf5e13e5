// What `attest` and `waive` share: checks, dates and persons that a server will believe.
#ifndef PARITECT_CLIENT_REMOTE_ANSWERS_H_
#define PARITECT_CLIENT_REMOTE_ANSWERS_H_

#include <string>

#include "absl/status/status.h"
#include "client/command.h"

namespace paritect {

// InvalidArgument: no such check (with the nearest), an item instead of a check.
absl::Status RequireCheck(const Rules& rules, const std::string& id);

// YYYY-MM-DD, a day that exists and has not passed.
absl::Status RequireDate(const std::string& today, const std::string& until);

// Neither may be blank: an answer without a person or a reason is none.
absl::Status RequirePerson(const std::string& by, const std::string& reason);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_ANSWERS_H_
