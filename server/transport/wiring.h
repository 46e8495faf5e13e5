// The parts of one server and how they reach each other: who calls whom, in what order they begin and end.
//
// Each part knows the others only by the ports that it is given here. Whoever asks "who may call this, and with which
// lock held" reads the Make...Ports of wiring.cc.
#ifndef PARITECT_SERVER_TRANSPORT_WIRING_H_
#define PARITECT_SERVER_TRANSPORT_WIRING_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/net/listener.h"
#include "common/pki/report_key.h"
#include "common/pki/server_folder.h"
#include "server/audit_figures.h"
#include "server/audits/audits.h"
#include "server/call_log.h"
#include "server/enrolment.h"
#include "server/executor.h"
#include "server/fleet.h"
#include "server/holder_journal.h"
#include "server/live.h"
#include "server/logins.h"
#include "server/operators.h"
#include "server/retention.h"
#include "server/server_command.h"
#include "server/server_log.h"
#include "server/transport/caller.h"
#include "server/transport/grpc_server.h"
#include "server/transport/page.h"
#include "server/transport/watched_context.h"
#include "server/transport/web.h"
#include "server/transport/webhook.h"
#include "server/writer.h"

namespace paritect {

struct ServeOptions {
  std::string folder;
  std::string listen = "0.0.0.0:7400";
  std::string web;    // "": none
  std::string store;  // "": FOLDER/paritect.db
  bool insecure_loopback = false;
  AuditOptionsOfServer audits;
  ListenerOptions listener;
  TargetRules webhook_targets;
  std::int64_t lifetime_s = 0;  // of agents' certificates; 0: a day
  std::int64_t retain_s = 0;    // 0: keep everything
  ServerLog::Form log_form = ServerLog::Form::kText;
};

class Server {
 public:
  // `env`, `options` and `log` must outlive it.
  Server(ServerEnv& env, const ServeOptions& options, ServerFolder folder, std::unique_ptr<FleetStore> store,
         ServerLog& log);
  // Whatever a start that failed has left running ends before what it uses.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  absl::Status Start();
  int port() const { return grpc_->port(); }
  int web_port() const { return web_ == nullptr ? 0 : web_->port(); }

  // To be called about twice a second.
  void Tick();
  // Nodes are asked to come back later, calls may end, what was submitted is written.
  void Stop();

 private:
  FleetPorts MakeFleetPorts();
  AuditPorts MakeAuditPorts();
  LivePorts MakeLivePorts();
  ServerParts MakeParts();
  void NoteJudged(const std::string& audit, bool now);
  std::string Metrics();
  absl::Status StartWeb();
  void GiveMemoryBack();
  std::string PageAddress() const;

  // In the order in which they need each other.
  ServerEnv& env_;
  ServerLog& server_log_;
  const std::int64_t start_unix_ms_;
  AuditFigures figures_;
  std::atomic<bool> stopping_ = false;
  const ServeOptions& options_;
  const ServerFolder folder_;
  const std::unique_ptr<FleetStore> store_;
  Executor executor_;
  Writer writer_;
  HolderJournal holders_;
  Fleet fleet_;
  Live live_;
  Audits audits_;
  Enrolment enrolment_;
  CallLog log_;
  std::optional<ReportKey> report_key_;  // before the calls, which borrow it
  Logins logins_;
  OperatorCalls calls_;
  Page page_;
  WebhookQueue webhooks_;
  Gate gate_;
  RetentionJob retention_;
  std::unique_ptr<GrpcServer> grpc_;
  std::atomic<GrpcServer*> transport_ = nullptr;  // calls may come in before grpc_ is set
  std::unique_ptr<WatchedContext> web_context_;
  std::unique_ptr<WebServer> web_;
  std::int64_t sometimes_ms_ = 0;
  std::int64_t cut_known_ = 0;
  std::int64_t trim_ms_ = 0;  // when memory is given back next; of a clock that nobody sets
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_WIRING_H_
