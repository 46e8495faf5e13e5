// paritect-agent: the per-node program. Everything is in the library; this only meets the process.
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "agent/agent_command.h"
#include "agent/datasets/digest_cache.h"
#include "common/file_system.h"
#include "rules/rules_folder.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (const absl::Status status = paritect::TakeRulesOption(paritect::PosixFileSystem(), args); !status.ok()) {
    std::cerr << "paritect-agent: " << status.message() << "\n";
    return 2;
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  timeval now = {};
  gettimeofday(&now, nullptr);
  const paritect::LiveNode live = paritect::ThisNode();
  paritect::AgentEnv env = {.fs = paritect::PosixFileSystem(),
                            .out = std::cout,
                            .err = std::cerr,
                            .rules = paritect::BuiltInRules(),
                            .host_name = host,
                            .now_unix_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_usec / 1000,
                            .live = &live};
  const auto variable = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  env.digest_cache = paritect::UserCacheFolder(variable("XDG_CACHE_HOME"), variable("HOME"));
  const int code = paritect::RunAgentCommandLine(env, args);
  std::cout.flush();
  return std::cout.good() || code != paritect::kAgentOk ? code : paritect::kAgentInternal;
}
