// paritect-server: the server program. Everything is in the libraries; this only meets the process.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "common/file_system.h"
#include "google/protobuf/stubs/logging.h"
#include "rules/rules_folder.h"
#include "server/access.h"
#include "server/server_command.h"
#include "server/transport/grpc_server.h"

int main(int argc, char** argv) {
  // Run by the build: an RPC without a rule in the table of access fails it.
  if (argc == 2 && std::strcmp(argv[1], "--check-access-table") == 0) {
    const auto faults = paritect::AccessTableFaults(paritect::ServiceMethods());
    for (const std::string& fault : faults) std::cerr << fault << "\n";
    return faults.empty() ? 0 : 1;
  }
  // A stranger's bytes get a status; libprotobuf would also print a line for each of them.
  google::protobuf::SetLogHandler(nullptr);
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (const absl::Status status = paritect::TakeRulesOption(paritect::PosixFileSystem(), arguments); !status.ok()) {
    std::cerr << "paritect-server: " << status.message() << "\n";
    return 2;
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  paritect::ServerEnv env = {.out = std::cout,
                             .err = std::cerr,
                             .rules = paritect::BuiltInRules(),
                             .host_name = host,
                             .clock = &paritect::SystemWallClock};
  return paritect::RunServerCommandLine(env, arguments);
}
