// paritect version
#include "client/command.h"
#include "common/version.h"

namespace paritect {
namespace {

ExitCode Run(CommandEnv& env, const std::vector<std::string>&) {
  env.out << "paritect " << kProgramVersion << "\n";
  return kExitOk;
}

}  // namespace

extern const Command kVersionCommand;
const Command kVersionCommand = {"version", "print the version", &Run};

}  // namespace paritect
