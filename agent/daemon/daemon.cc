#include "agent/daemon/daemon.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/collect.h"
#include "agent/daemon/enrol.h"
#include "agent/daemon/idle_memory.h"
#include "agent/daemon/network_mounts.h"
#include "agent/live/accelerators.h"
#include "common/pki/certificate.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::uint64_t kConfigBytesMax = 1 << 20;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kClockStepMs = 2'000;
constexpr std::int64_t kMendEveryMs = 10'000;
constexpr std::int64_t kExpireEveryMs = 600'000;
constexpr std::int64_t kReleaseAfterMs = 5'000;  // the session has begun by then
constexpr std::int64_t kSameTroubleMs = 600'000;
constexpr std::int64_t kRenewTimeoutMs = 4'000;  // a shutdown waits for it
constexpr auto kStopPatience = absl::Milliseconds(4'500);

std::int64_t WallMs() {
  return absl::ToUnixMillis(absl::Now());
}

// Goes on while the machine sleeps, so that waking up is no step of the clock.
std::int64_t SteadyMs() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Of the loop's thread and, for renewals, of nobody else.
double RandomPart() {
  static std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

std::string FirstLine(absl::string_view path) {
  auto text = ReadWholeFile(PosixFileSystem(), path, 4096);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace

absl::StatusOr<AgentConfig> LoadAgentConfig(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(PosixFileSystem(), path, kConfigBytesMax));
  auto config = ParseAgentConfig(text);
  if (!config.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ":", config.status().message()));
  return config;
}

absl::StatusOr<std::unique_ptr<AgentDaemon>> AgentDaemon::Make(DaemonOptions options, WakeLoop& loop,
                                                               const Rules& rules, AgentLog& log) {
  SpoolOptions spool_options;
  spool_options.max_bytes = options.config.spool_bytes_max;
  spool_options.max_age_ms = options.config.spool_age_seconds_max * 1000;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Spool> spool, Spool::Open(options.state.spool(), spool_options, &WallMs));
  return std::unique_ptr<AgentDaemon>(new AgentDaemon(std::move(options), std::move(spool), loop, rules, log));
}

AgentDaemon::AgentDaemon(DaemonOptions options, std::unique_ptr<Spool> spool, WakeLoop& loop, const Rules& rules,
                         AgentLog& log)
    : options_(std::move(options)),
      loop_(loop),
      log_(log),
      config_(options_.config),
      spool_(std::move(spool)),
      recorder_(*spool_, {.wall_ms = &WallMs, .wake = [this] { loop_.Wake(); }}),
      transport_({options_.credential.credential.authority_pem, options_.credential.credential.certificate_pem,
                  options_.credential.credential.key_pem}),
      contents_({.ask = [this](v1::ContentQuestion question) { uplink_->Ask(std::move(question)); }}),
      runner_(
          rules, recorder_, log, options_.credential.credential.identity.name, options_.program,
          {.live = options_.live,
           .wall_ms = &WallMs,
           .progress = [this](const v1::TaskProgress& progress, bool last) { uplink_->SetProgress(progress, last); },
           .digest_cache = options_.state.folder + "/digests",
           .contents = &contents_}) {
  UplinkOptions uplink_options;
  uplink_options.servers = Servers(options_.credential.credential);
  uplink_ = std::make_unique<Uplink>(std::move(uplink_options), *spool_, transport_, MakePorts());
  queue_ = std::make_unique<TaskQueue>(runner_, log_, TasksInSpool(*spool_),
                                       TaskQueue::Ports{.bounds = [this] { return Bounds(); },
                                                        .ended = [this](const std::string& id) { OnTaskEnded(id); }});
  follower_ =
      std::make_unique<Follower>(recorder_, log_, options_.credential.credential.identity.name, options_.program,
                                 Follower::Ports{.bounds = [this] { return Bounds(); },
                                                 .steady_ms = &SteadyMs,
                                                 .wall_ms = &WallMs,
                                                 .told_file = options_.state.folder + "/followed",
                                                 .epoch = spool_->epoch()});
  renewal_ = std::make_unique<Renewal>(
      options_.credential,
      Renewal::Ports{
          .ask = [this](const Credential& old) { return RenewCredential(old, Servers(old), kRenewTimeoutMs); },
          .random = &RandomPart,
          .wake = [this] { loop_.Wake(); }});
  own_plans_.Set(options_.config.plans, SteadyMs());
  clock_offset_ms_ = WallMs() - SteadyMs();
}

std::vector<std::string> AgentDaemon::Servers(const Credential& credential) {
  absl::MutexLock lock(&mutex_);
  return config_.servers.empty() ? credential.servers : config_.servers;
}

TaskBounds AgentDaemon::Bounds() {
  absl::MutexLock lock(&mutex_);
  return {config_.roots, config_.bytes_per_second, config_.in_clear};
}

// On the queue's thread.
void AgentDaemon::OnTaskEnded(const std::string& id) {
  uplink_->ForgetProgress(id);
  release_due_ms_ = SteadyMs() + kReleaseAfterMs;
  loop_.Wake();
}

UplinkPorts AgentDaemon::MakePorts() {
  UplinkPorts ports;
  ports.steady_ms = &SteadyMs;
  ports.wall_ms = &WallMs;
  ports.random = &RandomPart;
  ports.wake = [this] { loop_.Wake(); };
  ports.hello = [this] { return MakeHello(); };
  ports.on_task = [this](const v1::Task& task) {
    log_.Info(absl::StrCat("task ", task.id(), " of ", task.plan().info().plan_file()));
    task.follow() ? follower_->Add(task) : queue_->Add(task);
  };
  ports.on_cancel = [this](const std::string& id) {
    log_.Info(absl::StrCat("task ", id, " is not wanted any more"));
    queue_->Cancel(id);
    follower_->Cancel(id);
  };
  ports.on_acknowledged = [this](std::uint64_t durable) { queue_->OnAcknowledged(durable); };
  ports.on_connected = [this](const std::string& server, const v1::Welcome& welcome) {
    log_.Info(absl::StrCat("connected to ", server, " as node ", welcome.node()));
    last_trouble_.clear();
    contents_.OnConnected(welcome.question_digests_max());
  };
  ports.on_answer = [this](const v1::ContentAnswer& answer) { contents_.OnAnswer(answer); };
  ports.on_disconnected = [this](const std::string& server, const absl::Status& status, std::int64_t retry_ms) {
    contents_.OnDisconnected();
    OnDisconnected(server, status, retry_ms);
  };
  return ports;
}

v1::Hello AgentDaemon::MakeHello() {
  v1::Hello hello;
  hello.set_program(options_.program);
  hello.set_boot_id(FirstLine("/proc/sys/kernel/random/boot_id"));
  utsname machine = {};
  if (uname(&machine) == 0) hello.set_machine(machine.machine);
  for (const std::string& id : queue_->Done()) hello.add_tasks_done(id);
  if (const auto mounts = ReadWholeFile(PosixFileSystem(), "/proc/self/mountinfo", kConfigBytesMax); mounts.ok()) {
    for (const auto& [point, mount] : NetworkMounts(*mounts)) (*hello.mutable_mounts())[point] = mount;
  }
  if (options_.live != nullptr) {
    for (const auto& [what, count] : AcceleratorCounts(options_.live->fs)) (*hello.mutable_devices())[what] = count;
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, value] : config_.labels) (*hello.mutable_labels())[key] = value;
  for (const std::string& root : config_.roots) hello.add_roots(root);
  return hello;
}

// The same trouble every minute is told once in ten.
void AgentDaemon::OnDisconnected(const std::string& server, const absl::Status& status, std::int64_t retry_ms) {
  std::string trouble = status.ok() ? absl::StrCat("session with ", server, " ended")
                                    : absl::StrCat("no session with ", server, ": ", status.message());
  if (absl::Now() > absl::FromUnixSeconds(renewal_->not_after())) {
    absl::StrAppend(&trouble, "; this node's certificate expired on ", FormatUtc(renewal_->not_after()),
                    ": join again (paritect-agent join)");
  }
  if (absl::IsPermissionDenied(status) && absl::StrContains(status.message(), "revoked")) {
    absl::StrAppend(&trouble,
                    "; if this machine shall be a node again, join again with a new token (paritect token "
                    "create --node NAME, then paritect-agent join)");
  }
  const std::string line = absl::StrCat(trouble, "; next try in ", absl::FormatDuration(absl::Milliseconds(retry_ms)));
  if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) RereadCredential();
  const std::int64_t now = SteadyMs();
  if (trouble == last_trouble_ && now - last_trouble_ms_ < kSameTroubleMs) return log_.Detail(line);
  last_trouble_ = trouble;
  last_trouble_ms_ = now;
  status.ok() ? log_.Info(line) : log_.Warning(line);
}

void AgentDaemon::NoteStart() {
  const std::string path = absl::StrCat(options_.state.folder, "/epoch");
  const std::string epoch = absl::StrFormat("%016x", spool_->epoch());
  const std::string before = FirstLine(path);
  if (before != epoch) {
    if (!before.empty()) {
      log_.Warning("the spool is a new one: what waited in the old one is lost");
      recorder_.PutEvent("spool_recreated", absl::StrCat("epoch ", before, " before, ", epoch, " now"));
    }
    (void)WriteFileAtomically(path, epoch);
  }
  recorder_.PutEvent("started", options_.program);
  const SpoolStats stats = spool_->Stats();
  log_.Info(absl::StrCat(options_.program, " runs as node ", options_.credential.credential.identity.name, ", ",
                         stats.records, " records wait for the server"));
  for (const std::string& warning : options_.credential.warnings) log_.Warning(warning);
  if (Bounds().roots.empty()) log_.Warning(absl::StrCat("no `roots` in ", options_.config_path, ": no file is read"));
}

// An agent works without it: programs then keep what they recorded as bundles.
void AgentDaemon::OpenIntake() {
  const AgentConfig config = options_.config;
  const std::string path = config.local_socket.empty() ? options_.state.socket() : config.local_socket;
  auto intake = LocalIntake::Open(
      path, config.local_users,
      {.take = [this](v1::Bundle bundle, Cancellation& stop) { return runner_.Deliver(std::move(bundle), stop); }},
      log_);
  if (intake.ok()) {
    intake_ = *std::move(intake);
  } else {
    log_.Warning(absl::StrCat("programs of this machine cannot hand evidence over: ", intake.status().message()));
  }
}

AgentDaemon::End AgentDaemon::Run() {
  NoteStart();
  OpenIntake();
  release_due_ms_ = SteadyMs() + kReleaseAfterMs;
  for (;;) {
    const std::int64_t due = std::min(uplink_->Step(), Housekeep());
    if (uplink_->spool_is_behind()) {
      intake_.reset();  // the next daemon listens there
      return End::kNewSpool;
    }
    for (const int signal : loop_.Wait(due)) {
      if (signal != SIGHUP) return Finish();
      Reload();
    }
  }
}

AgentDaemon::End AgentDaemon::Finish() {
  log_.Info("stopping");
  const absl::Time until = absl::Now() + kStopPatience;
  intake_.reset();
  queue_->Shutdown(absl::ZeroDuration());
  follower_->Shutdown();
  uplink_->Stop();
  while (!uplink_->stopped() && absl::Now() < until) {
    const std::int64_t due = uplink_->Step();
    if (!uplink_->stopped() && !loop_.Wait(std::min<std::int64_t>(due, 100)).empty()) break;  // asked twice
  }
  const bool ended = queue_->Shutdown(std::max(absl::ZeroDuration(), until - absl::Now()));
  if (const absl::Status closed = spool_->Close(); !closed.ok()) log_.Warning(closed.message());
  log_.Info(ended ? "stopped" : "stopped, although a file is still being read");
  return ended ? End::kStopped : End::kStuck;
}

std::int64_t AgentDaemon::Housekeep() {
  const std::int64_t now = SteadyMs();
  if (now >= expire_due_ms_) {
    expire_due_ms_ = now + kExpireEveryMs;
    if (const absl::Status expired = spool_->Expire(); !expired.ok()) log_.Warning(expired.message());
  }
  if (now >= release_due_ms_) {
    release_due_ms_ = kNever;
    ReleaseIdleMemory();
  }
  const std::int64_t others = std::min(RenewCertificate(), RunOwnPlans());
  return std::min({WatchClock(), WatchSpool(now), others, expire_due_ms_ - now, release_due_ms_ - now});
}

// The node may have joined again while the agent runs, as after a revocation.
void AgentDaemon::WatchCredential() {
  struct stat info = {};
  if (stat(options_.state.credential().c_str(), &info) != 0) return;
  const std::string stamp =
      absl::StrCat(info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
  if (stamp == credential_stamp_) return;
  credential_stamp_ = stamp;
  RereadCredential();
}

// Whether its folder still is what it was: a few calls every ten seconds.
std::int64_t AgentDaemon::WatchSpool(std::int64_t now) {
  if (now < mend_due_ms_) return mend_due_ms_ - now;
  mend_due_ms_ = now + kMendEveryMs;
  WatchCredential();
  const auto lost = spool_->Mend();
  if (!lost.ok()) {
    log_.Error(absl::StrCat("the spool's folder was taken away and cannot be made anew: ", lost.status().message()));
  } else if (*lost > 0) {
    log_.Error(
        absl::StrCat("the spool's folder was taken away or replaced while the agent ran; it was made anew, and "
                     "what waited in it for the server (",
                     *lost, " records at most) is told as lost"));
    recorder_.PutEvent("spool_taken_away", absl::StrCat(*lost, " records at most"));
    uplink_->RecordsWait();
  }
  return kMendEveryMs;
}

std::int64_t AgentDaemon::WatchClock() {
  const std::int64_t offset = WallMs() - SteadyMs();
  const std::int64_t step = offset - clock_offset_ms_;
  clock_offset_ms_ = offset;
  if (std::abs(step) >= kClockStepMs) {
    const std::string detail = absl::StrFormat("%+.3f s", static_cast<double>(step) / 1000);
    log_.Warning(absl::StrCat("the clock was set by ", detail));
    recorder_.PutEvent("clock_stepped", detail);
  }
  return 60'000;
}

std::int64_t AgentDaemon::RenewCertificate() {
  const std::int64_t now = absl::ToUnixSeconds(absl::Now());
  if (auto answer = renewal_->Poll(now)) {
    if (answer->ok()) {
      Adopt(**answer);
    } else {
      log_.Warning(absl::StrCat("the certificate, which ends on ", FormatUtc(renewal_->not_after()),
                                ", could not be renewed yet: ", answer->status().message()));
      RereadCredential();
    }
  }
  return std::clamp<std::int64_t>(renewal_->due() - now, 1, 3600) * 1000;
}

void AgentDaemon::Adopt(const Credential& credential) {
  if (const absl::Status saved = SaveCredential(options_.state.credential(), credential); !saved.ok()) {
    // The one in use works on; after a restart the old one does, until it ends.
    log_.Error(absl::StrCat("the renewed certificate could not be kept: ", saved.message()));
  }
  Use(credential);
  log_.Info(absl::StrCat("the certificate was renewed until ", FormatUtc(renewal_->not_after())));
}

void AgentDaemon::Use(const Credential& credential) {
  options_.credential.credential = credential;
  transport_.SetTls({credential.authority_pem, credential.certificate_pem, credential.key_pem});
  uplink_->Reconnect(Servers(credential));
}

// The node may have joined again, or another tool may have renewed the files that the credential names.
void AgentDaemon::RereadCredential() {
  const auto loaded = LoadCredential(options_.state.credential(), absl::ToUnixSeconds(absl::Now()));
  const Credential& present = options_.credential.credential;
  if (!loaded.ok() || loaded->credential.certificate_pem == present.certificate_pem) return;
  if (!(loaded->credential.identity == present.identity)) {
    log_.Warning(absl::StrCat("the credential is now that of ", DescribeIdentity(loaded->credential.identity),
                              "; it is used after a restart"));
    return;
  }
  renewal_->Replace(*loaded);
  Use(loaded->credential);
  log_.Info(absl::StrCat("a new certificate was found, valid until ", FormatUtc(renewal_->not_after())));
}

std::int64_t AgentDaemon::RunOwnPlans() {
  const std::int64_t now = SteadyMs();
  for (const std::string& path : own_plans_.TakeDue(now)) {
    auto plan = LoadPlan(PosixFileSystem(), path, options_.credential.credential.identity.name);
    if (!plan.ok()) {
      log_.Error(absl::StrCat("plan ", path, ": ", plan.status().message()));
      recorder_.PutEvent("plan_failed", plan.status().message());
      continue;
    }
    v1::Task task;
    task.set_id(absl::StrCat("own:", DisplayBytes(plan->info().run()), ":", WallMs()));
    *task.mutable_plan() = *std::move(plan);
    queue_->Add(task);
  }
  const std::int64_t next = own_plans_.next_due_ms();
  return next == OwnPlans::kNever ? 3'600'000 : std::max<std::int64_t>(0, next - now);
}

void AgentDaemon::Reload() {
  RereadCredential();
  auto config = LoadAgentConfig(options_.config_path);
  if (!config.ok()) return log_.Error(absl::StrCat("the configuration stays as it was: ", config.status().message()));
  bool servers_changed = false;
  bool labels_changed = false;
  {
    absl::MutexLock lock(&mutex_);
    if (*config == config_) return log_.Info("the configuration has not changed");
    servers_changed = config->servers != config_.servers;
    labels_changed = config->labels != config_.labels || config->roots != config_.roots;
    config_ = *config;
  }
  own_plans_.Set(config->plans, SteadyMs());
  log_.Info("the configuration was read again; nice and spool apply after a restart");
  recorder_.PutEvent("configuration_changed", options_.config_path);
  // The server learns labels and roots from the greeting.
  if (servers_changed || labels_changed) uplink_->Reconnect(Servers(options_.credential.credential));
}

}  // namespace paritect
