#include "common/version.h"

#include "server/server_command.h"

namespace paritect {
namespace {

int Run(ServerEnv& env, const std::vector<std::string>&) {
  env.out << "paritect-server " << kProgramVersion << "\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerVersionCommand;
const ServerCommand kServerVersionCommand = {"version", "print the version", &Run};

}  // namespace paritect
