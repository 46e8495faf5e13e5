#include "server/transport/wiring.h"

#include <malloc.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/host_port.h"
#include "common/net/door_session.h"
#include "common/net/tcp_stream.h"
#include "common/pki/certificate.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "server/access_role.h"
#include "server/bundle_reader.h"
#include "server/disk_space.h"
#include "server/metrics.h"
#include "server/transport/enrolment_door.h"

namespace paritect {
namespace {

constexpr std::int64_t kSometimesEveryMs = 30'000;
constexpr std::int64_t kTrimEveryMs = 30'000;
constexpr std::int64_t kTrimAfterCutMs = 2'000;  // until the transport has let go of what a caller had sent
constexpr std::int64_t kDrainSpreadMs = 3000;
constexpr std::int64_t kStopGraceMs = 3000;

std::string RandomBytes(std::size_t size) {
  std::string bytes(size, '\0');
  // Without randomness there is no key, and values are withheld without a hash.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size)) != 1) return "";
  return bytes;
}

std::string Program() {
  return absl::StrCat("paritect-server ", kProgramVersion);
}

// Without one reports go out unsigned: no reason not to serve.
std::optional<ReportKey> LoadReportKey(const std::string& folder, ServerLog& log) {
  auto key = ReportKey::LoadOrMake(folder);
  if (key.ok()) return *std::move(key);
  log.Write(LogLevel::kError, absl::StrCat("reports are not signed: ", key.status().message()));
  return std::nullopt;
}

std::string CertificateSha256(const std::string& chain_pem) {
  const auto peer = Certificate::FromPem(chain_pem);
  return peer.ok() ? peer->Fingerprint() : "";
}

EnrolmentOptions MakeEnrolmentOptions(const ServeOptions& options, ServerLog& log) {
  EnrolmentOptions out;
  out.tell = [&log](const v1::AuditLogEntry& entry) { TellCall(log, entry); };
  if (options.lifetime_s > 0) out.lifetime_s = options.lifetime_s;
  return out;
}

FleetOptions MakeFleetOptions() {
  FleetOptions options;
  options.program = Program();
  return options;
}

}  // namespace

Server::Server(ServerEnv& env, const ServeOptions& options, ServerFolder folder, std::unique_ptr<FleetStore> store,
               ServerLog& log)
    : env_(env),
      server_log_(log),
      start_unix_ms_(env.clock()),
      options_(options),
      folder_(std::move(folder)),
      store_(std::move(store)),
      writer_(*store_),
      holders_(options.folder),
      fleet_(*store_, env.clock, MakeFleetOptions(), MakeFleetPorts()),
      live_(*store_, env.rules, env.clock, LiveOptions{}, MakeLivePorts()),
      audits_(*store_, env.rules, env.clock, options.audits, MakeAuditPorts()),
      enrolment_(
          folder_, *store_, fleet_, [this](WriteSet set) { return writer_.Submit(std::move(set)); }, env.clock,
          MakeEnrolmentOptions(options, log)),
      log_([this](WriteSet set, Writer::Done done) { return writer_.TrySubmit(std::move(set), std::move(done)); },
           env.clock, [this](const v1::AuditLogEntry& entry) { TellCall(server_log_, entry); }),
      report_key_(LoadReportKey(options.folder, log)),
      logins_(env.clock),
      calls_(MakeParts()),
      page_(env.rules, calls_,
            {logins_, log_, [this](const LoginHolder& holder) { return gate_.Stands(holder); },
             [this](const std::string& pem) { return gate_.HolderOf(pem); }}),
      webhooks_({options.webhook_targets},
                [this](const std::string& place, const absl::Status& status) {
                  log_.Write({.actor = "server", .action = "Webhook", .subject = place}, status);
                }),
      gate_(
          folder_, fleet_, log_, env.clock,
          [this](const Caller& caller, bool message) {
            if (GrpcServer* const transport = transport_) transport->Heard(caller.key, caller.Actor(), message);
          },
          options.insecure_loopback),
      retention_(
          *store_, [this](WriteSet set) { return writer_.Submit(std::move(set)); }, env.clock,
          {.keep_ms = options.retain_s * 1000},
          [this](const absl::Status& status, const std::string& what) {
            log_.Write({.actor = "server", .action = "Retention", .subject = what}, status);
          }) {}

FleetPorts Server::MakeFleetPorts() {
  FleetPorts ports;
  ports.holders = &holders_;
  ports.contested = [this](const std::string& node, const std::string& address, const std::string& other) {
    log_.Write({.actor = absl::StrCat("agent/", node),
                .address = address,
                .action = "Identity",
                .subject = node,
                .often = true},
               absl::AbortedError(absl::StrCat("two agents take each other's place; the other one is at ", other)));
  };
  ports.lost = [this](const std::string& node, const std::string& address, std::int64_t records) {
    log_.Write({.actor = absl::StrCat("agent/", node),
                .address = address,
                .action = "LostRecords",
                .subject = node,
                .often = true},
               absl::DataLossError(absl::StrCat(records,
                                                " records of it are gone for good; run the audits again that "
                                                "rest on them")));
  };
  ports.submit = [this](WriteSet set, Writer::Done done) { return writer_.TrySubmit(std::move(set), std::move(done)); };
  ports.retry_after_ms = [this] { return absl::ToInt64Milliseconds(writer_.RetryAfter()); };
  ports.defer = [this](std::function<void()> work) { executor_.Post(std::move(work)); };
  ports.tasks_for = [this](const std::string& node, const std::set<std::string>& done) {
    std::vector<v1::Task> tasks = audits_.TasksFor(node, done);
    for (v1::Task& task : live_.TasksFor(node)) tasks.push_back(std::move(task));
    return tasks;
  };
  ports.steps = [this](const std::string& node, const v1::StepChunk& chunk) { live_.OnSteps(node, chunk); };
  ports.progress = [this](const std::string& node, const v1::TaskProgress& progress) {
    audits_.OnProgress(node, progress);
  };
  ports.task_end = [this](const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
    absl::StartsWith(end.task_id(), kLiveTaskPrefix) ? live_.OnTaskEnd(node, end) : audits_.OnTaskEnd(node, epoch, end);
  };
  return ports;
}

AuditPorts Server::MakeAuditPorts() {
  AuditPorts ports;
  ports.nodes = [this] { return fleet_.Agents(); };
  ports.dispatch = [this](const std::string& node, const v1::Task& task) { fleet_.Dispatch(node, task); };
  ports.cancel = [this](const std::string& node, const std::string& task) { fleet_.Cancel(node, task); };
  ports.commit = [this](WriteSet set) { return writer_.Submit(std::move(set)); };
  ports.stored_bundle = [this](const v1::NodeTask& task) {
    return CollectedBundle(*store_, task.task_id(), task.node());
  };
  ports.load_bundle = [this](const v1::StoredBundle& stored, MessageBudget& budget, ListsInCommon* lists) {
    return lists == nullptr ? LoadBundle(*store_, stored, budget) : LoadBundle(*store_, stored, budget, *lists);
  };
  ports.random_bytes = &RandomBytes;
  ports.notify = [this](const std::string& url, const std::string& json) { webhooks_.Post(url, json); };
  ports.begin_live = [this](const v1::AuditRun& run) { live_.Begin(run); };
  ports.judged = [this](const std::string& audit) {
    live_.Judged(audit);
    NoteJudged(audit, true);
  };
  ports.not_stored = [this](const v1::AuditRun& run, const absl::Status& why) {
    server_log_.Write(LogLevel::kError, "audit's report cannot be stored, it is tried again",
                      {{"audit", absl::StrCat(run.audit(), " #", run.number())}, {"why", std::string(why.message())}});
  };
  ports.set_aside = [this](const v1::AuditRun& run) { TellRun(server_log_, run); };
  ports.remove_live = [this](const std::string& audit, WriteSet& set) { live_.Remove(audit, set); };
  return ports;
}

LivePorts Server::MakeLivePorts() {
  LivePorts ports;
  ports.dispatch = [this](const std::string& node, const v1::Task& task) { fleet_.Dispatch(node, task); };
  ports.cancel = [this](const std::string& node, const std::string& task) { fleet_.Cancel(node, task); };
  ports.commit = [this](WriteSet set) { return writer_.Submit(std::move(set)); };
  ports.load_bundle = [this](const v1::StoredBundle& stored) { return LoadBundle(*store_, stored); };
  ports.notify = [this](const std::string& url, const std::string& json) { webhooks_.Post(url, json); };
  return ports;
}

ServerParts Server::MakeParts() {
  return {*store_,
          fleet_,
          audits_,
          live_,
          enrolment_,
          env_.rules,
          env_.clock,
          [this](WriteSet set) { return writer_.Submit(std::move(set)); },
          [this] { return Metrics(); },
          Program(),
          folder_.server_not_after,
          JoinPath(options_.folder, "backups"),
          [this] { return stopping_.load(); },
          env_.host_name,
          report_key_ ? &*report_key_ : nullptr,
          &logins_,
          [this] { return PageAddress(); },
          CertificateSha256(folder_.chain_pem),
          [this] { return writer_.stats().newest; },
          [this] { return FreeBytes(options_.folder); },
          start_unix_ms_};
}

absl::Status Server::Start() {
  PARITECT_RETURN_IF_ERROR(fleet_.Load());
  PARITECT_RETURN_IF_ERROR(live_.Load());
  PARITECT_RETURN_IF_ERROR(audits_.Load());
  for (const v1::AuditDefinition& definition : audits_.Definitions()) NoteJudged(definition.name(), false);
  GrpcServerOptions grpc_options;
  PARITECT_ASSIGN_OR_RETURN(grpc_options.address, ParseHostPort(options_.listen));
  grpc_options.folder = options_.folder;
  grpc_options.clock = env_.clock;
  grpc_options.insecure_loopback = options_.insecure_loopback;
  grpc_options.listener = options_.listener;
  grpc_options.log = &server_log_;
  PARITECT_ASSIGN_OR_RETURN(grpc_, StartGrpcServer(grpc_options, gate_, calls_, enrolment_, fleet_));
  transport_ = grpc_.get();
  if (options_.web.empty()) return absl::OkStatus();
  return StartWeb();
}

std::string Server::PageAddress() const {
  const auto address = ParseHostPort(options_.web);
  if (web_ == nullptr || !address.ok()) return "";
  return FormatHostPort({address->host, web_->port()});
}

absl::Status Server::StartWeb() {
  PARITECT_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options_.web));
  web_context_ = std::make_unique<WatchedContext>(options_.folder, env_.clock, [](const ServerFolder& loaded) {
    return NewPageContext(loaded.chain_pem, loaded.key_pem, loaded.authorities_pem);
  });
  PARITECT_RETURN_IF_ERROR(web_context_->Load());
  WebPage page;
  page.tls = [this] { return web_context_->NewSession(); };
  page.answer = [this](const HttpRequest& request, const OneShotPeer& from) { return page_.Answer(request, from); };
  page.refused = [this](const std::string& from, const std::string& why) { LogRefusedHandshake(from, why, log_); };
  PARITECT_ASSIGN_OR_RETURN(web_, StartWebServer(
                                      address, [this] { return Metrics(); }, std::move(page)));
  return absl::OkStatus();
}

Server::~Server() {
  web_.reset();
  grpc_.reset();
  executor_.Stop();
  webhooks_.Stop();
  audits_.Stop();
  live_.Stop();
  writer_.Stop();
}

// What imports, reports and callers who were hung up on took: glibc keeps it with the thread that freed it.
void Server::GiveMemoryBack() {
  const std::int64_t now = MonotonicMs();
  const std::int64_t cut = grpc_->listener_counters().cut;
  if (cut != cut_known_) {
    cut_known_ = cut;
    trim_ms_ = std::min(trim_ms_, now + kTrimAfterCutMs);
  }
  if (now < trim_ms_) return;
  trim_ms_ = now + kTrimEveryMs;
  malloc_trim(0);
}

void Server::Tick() {
  audits_.Tick();
  live_.Tick();
  GiveMemoryBack();
  const std::int64_t now = env_.clock();
  if (now - sometimes_ms_ < kSometimesEveryMs) return;
  sometimes_ms_ = now;
  WriteSet set = fleet_.SeenSet();
  if (!set.empty()) writer_.Submit(std::move(set), [](absl::Status) {});
}

void Server::Stop() {
  stopping_ = true;
  fleet_.Drain(kDrainSpreadMs);
  grpc_->Stop(kStopGraceMs);
  executor_.Stop();
  webhooks_.Stop();
  audits_.Stop();
  live_.Stop();
  retention_.Stop();
  WriteSet set = fleet_.SeenSet();
  if (!set.empty()) writer_.Submit(std::move(set)).IgnoreError();
  writer_.Stop();
}

// Its newest run that was judged, if any was. `now`: it was, at this moment.
void Server::NoteJudged(const std::string& audit, bool now) {
  const auto run = audits_.FindRun(audit, 0);
  if (!run.ok()) return;
  if (now) TellRun(server_log_, *run);
  const auto report = audits_.FindReport(audit, run->number());
  if (report.ok()) figures_.Put(FigureOf(*run, *report), now);
}

std::string Server::Metrics() {
  ServerMetrics metrics;
  std::vector<std::string> audits;
  for (const v1::AuditDefinition& definition : audits_.Definitions()) audits.push_back(definition.name());
  figures_.KeepOnly(audits);
  metrics.version = std::string(kProgramVersion);
  metrics.start_unix_ms = start_unix_ms_;
  metrics.certificate_expires_unix = folder_.server_not_after;
  metrics.audits = figures_.All();
  metrics.runs_by_verdict = figures_.RunsByVerdict();
  metrics.fleet = fleet_.counters();
  metrics.writer = writer_.stats();
  if (auto stats = store_->Stats(); stats.ok()) metrics.store = *stats;
  if (grpc_ != nullptr) {
    const ListenerCounters listener = grpc_->listener_counters();
    metrics.connections_accepted = listener.accepted;
    metrics.connections_open = listener.open;
    metrics.connections_refused = listener.refused_total + listener.refused_per_address;
    metrics.descriptors_exhausted = listener.exhausted;
    metrics.connections_waiting = listener.waiting;
    metrics.connections_strange = listener.strangers;
    metrics.connections_cut = listener.cut;
  }
  metrics.log_entries_lost = log_.lost();
  if (const auto free = FreeBytes(options_.folder); free.ok()) metrics.disk_free_bytes = *free;
  return FormatMetrics(metrics);
}

}  // namespace paritect
