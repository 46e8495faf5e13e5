// The options that `check` and `why` share: the sides, the profile, a person's answers, the language.
#ifndef PARITECT_CLIENT_REPORT_AUDIT_OPTIONS_H_
#define PARITECT_CLIENT_REPORT_AUDIT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/report/reading.h"
#include "client/report/renderer.h"
#include "common/arguments.h"
#include "report/language.h"
#include "rules/profile.h"

namespace paritect {

struct AuditArguments {
  std::vector<std::string> baseline;
  std::vector<std::string> migrated;
  std::string profile;
  std::string answers;
  std::vector<std::string> sides;  // the short form: BASELINE MIGRATED
  bool hash_data = false;          // data sets and weights beyond 1 GiB of folders without a plan are read too
  std::string lang;
  std::string colour = "auto";
  bool full = false;    // everything, and not the first screen alone
  bool failed = false;  // what failed, in full
  ReadingOptions reading;
};

// Declares them; `options` must outlive `arguments`.
void DeclareAuditArguments(Arguments& arguments, AuditArguments& options);

// `--full` and `--failed`: of commands that print a report.
void DeclareDetailArguments(Arguments& arguments, AuditArguments& options);

// Languages, colour, characters and width for what goes to standard output.
absl::StatusOr<RenderOptions> TextOptions(CommandEnv& env, const AuditArguments& options);

// Puts the short form into its sides. InvalidArgument, in words, where neither side has a plan, where the short form
// does not name both, or where an option of reading is none.
absl::Status TakeSides(AuditArguments& options);

// The built-in profile, with the user's and the answers on top. InvalidArgument "FILE:LINE:COLUMN: ...".
absl::StatusOr<Profile> LoadProfile(CommandEnv& env, const std::string& profile_file, const std::string& answers_file);

// Every id of the catalogue, items before their checks.
std::vector<std::string> CatalogueIds(const Rules& rules, bool with_checks);

// Prints the user's mistake and gives kExitUsage. A message that begins with a place (FILE:LINE:COLUMN:) stands as it
// is, so that editors find it; others begin with the command's name.
ExitCode UsageError(CommandEnv& env, absl::string_view command, absl::string_view message);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_AUDIT_OPTIONS_H_
