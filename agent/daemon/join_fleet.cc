// Enrolment of a simulated fleet.
#include <errno.h>
#include <ftw.h>
#include <stdio.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/enrol.h"
#include "agent/daemon/simulator.h"
#include "agent/uplink/grpc_calls.h"
#include "common/posix_file.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr int kThreads = 4;
constexpr std::int64_t kTokenSeconds = 900;

absl::StatusOr<std::string> FleetToken(const Credential& admin, const std::string& server, int uses) {
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_uses(uses);
  request.set_ttl_seconds(kTokenSeconds);
  const RpcTarget target = {.server = server, .tls = {admin.authority_pem, admin.certificate_pem, admin.key_pem}};
  PARITECT_ASSIGN_OR_RETURN(const v1::CreateTokenResponse response, CallCreateToken(target, request));
  return response.token();
}

absl::Status JoinOne(const Credential& admin, const JoinQuery& query, SimulatedNode& node) {
  PARITECT_ASSIGN_OR_RETURN(node.credential, JoinKnownServer(query, admin.authority_pem));
  const AgentState state = {node.folder};
  PARITECT_RETURN_IF_ERROR(MakeStateFolder(state));
  return SaveCredential(state.credential(), node.credential);
}

}  // namespace

absl::StatusOr<std::vector<SimulatedNode>> JoinFleet(const Credential& admin, const std::string& server,
                                                     const std::string& folder, const std::string& name, int agents,
                                                     std::int64_t now) {
  std::vector<SimulatedNode> nodes(static_cast<std::size_t>(agents));
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].folder = absl::StrFormat("%s/%s-%04d", folder, name, i + 1);
    const auto known = LoadCredential(AgentState{nodes[i].folder}.credential(), now);
    if (known.ok()) {
      nodes[i].credential = known->credential;
    } else {
      missing.push_back(i);
    }
  }
  if (missing.empty()) return nodes;
  PARITECT_ASSIGN_OR_RETURN(const std::string token, FleetToken(admin, server, static_cast<int>(missing.size())));
  std::atomic<std::size_t> next = 0;
  absl::Mutex mutex;
  absl::Status failed;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < missing.size(); at = next++) {
        SimulatedNode& node = nodes[missing[at]];
        JoinQuery query = {.server = server, .token = token, .ca_pin = "", .node = "", .now = now};
        query.node = node.folder.substr(node.folder.rfind('/') + 1);
        const absl::Status joined = JoinOne(admin, query, node);
        if (joined.ok()) continue;
        absl::MutexLock lock(&mutex);
        if (failed.ok()) failed = Annotate(joined, query.node);
        return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!failed.ok()) return failed;
  return nodes;
}

absl::Status RemoveFolder(const std::string& folder) {
  constexpr int kOpenMax = 16;
  const auto remove_one = [](const char* path, const struct stat*, int, FTW*) { return remove(path); };
  if (nftw(folder.c_str(), remove_one, kOpenMax, FTW_DEPTH | FTW_PHYS) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "remove", folder);
}

}  // namespace paritect
