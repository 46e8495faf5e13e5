// paritect version
#include "client/command.h"
#include "common/build_text.h"

namespace paritect {
namespace {

ExitCode Run(CommandEnv& env, const std::vector<std::string>&) {
  env.out << BuildText("paritect");
  return kExitOk;
}

}  // namespace

extern const Command kVersionCommand;
const Command kVersionCommand = {"version", "print version, commit and libraries", &Run};

}  // namespace paritect
