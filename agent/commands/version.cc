// paritect-agent version
#include "agent/agent_command.h"
#include "common/version.h"

namespace paritect {
namespace {

int Run(AgentEnv& env, absl::Span<const std::string>) {
  env.out << "paritect-agent " << kProgramVersion << "\n";
  return kAgentOk;
}

}  // namespace

extern const AgentCommand kAgentVersionCommand;
const AgentCommand kAgentVersionCommand = {"version", "", "print the version", &Run};

}  // namespace paritect
