// A profile: thresholds with their sources, keys to ignore, waivers. Built in: pre-tuning/1; a user's
// profile extends it (docs/profiles.md). Attestations and waivers made offline have the same form.
#ifndef PARITECT_RULES_PROFILE_H_
#define PARITECT_RULES_PROFILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// A finding that a person accepts until a date. Needs `kind` or `subject`.
struct ProfileWaiver {
  std::string check;
  std::string kind;
  std::string subject;              // GlobMatch pattern
  std::vector<std::string> nodes;   // globs; empty: all
  std::string reason;
  std::string by;
  std::string until;                // YYYY-MM-DD, the last day
  std::string ref;
};

// A person's answer to a check.
struct ProfileAttestation {
  std::string check;
  std::string by;
  std::string reason;
  std::string until;
};

struct Profile {
  std::string name;  // NAME/VERSION
  std::map<std::string, double> thresholds;
  std::vector<std::string> ignore_keys;  // globs over canonical and raw settings keys
  std::vector<ProfileWaiver> waivers;
  std::vector<ProfileAttestation> attestations;
  bool loss_lower_fails = true;

  // A threshold by name. The names are closed: an unknown one is a fault in our code.
  double threshold(absl::string_view name) const;
};

// Reads the built-in profile: it must state every threshold.
absl::StatusOr<Profile> ReadBuiltInProfile(const DocumentNode& root);

// Reads a user's profile over `base`. InvalidArgument "LINE:COLUMN: ..." for an unknown key or
// threshold, a wrong type, a waiver without reason, person or date.
absl::StatusOr<Profile> ReadProfile(const DocumentNode& root, const Profile& base);

// Reads `--answers`: {attestations: [...], waivers: [...]} into the profile.
absl::Status ReadAnswers(const DocumentNode& root, Profile& profile);

}  // namespace paritect

#endif  // PARITECT_RULES_PROFILE_H_
