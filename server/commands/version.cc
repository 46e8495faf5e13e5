#include "common/build_text.h"

#include "server/server_command.h"

namespace paritect {
namespace {

int Run(ServerEnv& env, const std::vector<std::string>&) {
  env.out << BuildText("paritect-server");
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerVersionCommand;
const ServerCommand kServerVersionCommand = {"version", "print version, commit and libraries", &Run};

}  // namespace paritect
