// paritect-agent version
#include "agent/agent_command.h"
#include "common/build_text.h"

namespace paritect {
namespace {

int Run(AgentEnv& env, absl::Span<const std::string>) {
  env.out << BuildText("paritect-agent");
  return kAgentOk;
}

}  // namespace

extern const AgentCommand kAgentVersionCommand;
const AgentCommand kAgentVersionCommand = {"version", "", "print version, commit and libraries", &Run};

}  // namespace paritect
