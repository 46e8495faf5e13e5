// Options that every command may have, written before the verb: `paritect --lang zh check gpu npu`.
#ifndef PARITECT_CLIENT_GLOBAL_OPTIONS_H_
#define PARITECT_CLIENT_GLOBAL_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"

namespace paritect {

// Moves --lang, --color, --credential and --context from before the command to where it declares them. A command that
// has no use for one of them does without it, and for --lang and --color behind its verb too. InvalidArgument: one
// without its value.
absl::StatusOr<std::vector<std::string>> PlaceGlobalOptions(const CommandEnv& env, std::vector<std::string> args);

}  // namespace paritect

#endif  // PARITECT_CLIENT_GLOBAL_OPTIONS_H_
