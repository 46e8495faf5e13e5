// The contract of one kind of `paritect diff KIND A B`: one file in diff/, one line in all_diffs.inc.
#ifndef PARITECT_CLIENT_DIFF_DIFF_KIND_H_
#define PARITECT_CLIENT_DIFF_DIFF_KIND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/report/audit_options.h"

namespace paritect {

struct DiffRequest {
  std::string a;  // as the user names them
  std::string b;
  bool all = false;                  // also what is equal
  bool json = false;                 // else the table
  std::vector<std::string> metrics;  // of curves; empty: the loss
  RenderOptions render;
  Profile profile;
};

struct DiffKind {
  absl::string_view name;     // "settings"
  absl::string_view summary;  // for the help
  // Prints the difference. True: equal. A status is the user's mistake, in words, or why it cannot be told.
  absl::StatusOr<bool> (*run)(CommandEnv& env, const DiffRequest& request);
};

absl::Span<const DiffKind* const> AllDiffKinds();

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_DIFF_KIND_H_
