// One side of `paritect diff`: a plan, a bundle, a folder, files without a plan, a run or a side of an audit.
#ifndef PARITECT_CLIENT_DIFF_DIFF_SIDE_H_
#define PARITECT_CLIENT_DIFF_DIFF_SIDE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

// What files without a plan are taken for.
enum class BareFiles { kSettings, kLogs };

// InvalidArgument or NotFound: the user's mistake, in words; a server's error for what is on a server.
absl::StatusOr<std::vector<v1::Bundle>> LoadDiffSide(CommandEnv& env, const std::string& text, BareFiles bare);

// What is no path here: "AUDIT:baseline", or a run on the server. NotFound `not_there`: neither.
absl::StatusOr<std::vector<v1::Bundle>> LoadServerSide(CommandEnv& env, const std::string& text,
                                                       absl::string_view not_there);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_DIFF_SIDE_H_
