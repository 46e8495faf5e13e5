#include "agent/daemon/follower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collector.h"
#include "common/glob.h"

namespace paritect {
namespace {

constexpr std::uint64_t kPollBytesMax = 16 << 20;
constexpr int kChunkSteps = 500;
constexpr std::size_t kSourcesMax = 256;  // of one task: each holds a descriptor

// "train.log" of "train.log.2.gz", "train.log-20261129", "train.log": the parts of one rotated log share it. Without a
// "train.log" beside them they are logs of their own, as "worker.0" and "worker.1" are.
std::string StemOf(absl::string_view path, const std::set<std::string>& there) {
  const absl::string_view whole = path;
  absl::ConsumeSuffix(&path, ".gz");
  const std::size_t at = path.find_last_not_of("0123456789");
  if (at != absl::string_view::npos && at + 1 < path.size()) {
    const bool suffix = (path[at] == '.' || path[at] == '-') && at > 0 && path[at - 1] != '/';
    if (suffix) path = path.substr(0, at);
  }
  return std::string(there.count(std::string(path)) > 0 ? path : whole);
}

std::string ShownName(const v1::Plan& plan, absl::string_view path) {
  const std::string prefix = plan.base() == "/" ? "/" : absl::StrCat(plan.base(), "/");
  if (plan.base() != "/" && absl::ConsumePrefix(&path, prefix)) return std::string(path);
  return std::string(path);
}

}  // namespace

Follower::Follower(Recorder& recorder, AgentLog& log, std::string node, std::string program, Ports ports,
                   FollowerOptions options)
    : recorder_(recorder),
      log_(log),
      node_(std::move(node)),
      program_(std::move(program)),
      ports_(std::move(ports)),
      options_(options),
      told_(ports_.told_file, ports_.epoch) {}

Follower::~Follower() {
  Shutdown();
}

void Follower::Add(const v1::Task& task) {
  absl::MutexLock lock(&mutex_);
  if (shutdown_.stopped()) return;
  for (const auto& one : followed_) {
    if (one->task.id() == task.id()) return;
  }
  auto one = std::make_shared<Followed>();
  one->task = task;
  one->cancellation = std::make_shared<Cancellation>(
      task.deadline_ms() > 0 ? absl::Now() + absl::Milliseconds(task.deadline_ms()) : absl::InfiniteFuture());
  one->started_ms = ports_.steady_ms();
  followed_.push_back(std::move(one));
  if (running_) return;
  if (thread_.joinable()) thread_.join();  // of the tasks before: it has nothing to do any more
  running_ = true;
  thread_ = std::thread([this] { Loop(); });
}

void Follower::Cancel(const std::string& task_id) {
  absl::MutexLock lock(&mutex_);
  for (const auto& one : followed_) {
    if (one->task.id() == task_id) one->cancellation->Stop(StopReason::kCancelled);
  }
}

void Follower::Shutdown() {
  shutdown_.Stop(StopReason::kShutdown);
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void Follower::Loop() {
  for (;;) {
    std::vector<std::shared_ptr<Followed>> all;
    {
      absl::MutexLock lock(&mutex_);
      if (followed_.empty() || shutdown_.stopped()) {
        running_ = false;
        told_.Save(ports_.steady_ms(), true);
        return;
      }
      all = followed_;
    }
    bool behind = false;
    for (const auto& one : all) {
      looked_at_ = one->cancellation.get();
      const bool over = Look(*one);
      looked_at_ = nullptr;
      behind = behind || (!over && one->behind);
      if (!over) continue;
      absl::MutexLock lock(&mutex_);
      followed_.erase(std::remove(followed_.begin(), followed_.end(), one), followed_.end());
    }
    told_.Save(ports_.steady_ms());
    if (!behind) shutdown_.WaitFor(absl::Milliseconds(options_.poll_ms));
  }
}

// A limit of bandwidth may want a long pause; whoever waits for the end of a task or of the agent does not.
void Follower::WaitWhileFollowing(absl::Duration time) {
  const absl::Time until = absl::Now() + time;
  while (absl::Now() < until && !(looked_at_ != nullptr && looked_at_->stopped())) {
    if (shutdown_.WaitFor(std::min(until - absl::Now(), absl::Milliseconds(100)))) return;
  }
}

void Follower::AddSource(Followed& one, const v1::LogSource& source, std::vector<std::string> paths,
                         std::optional<std::int32_t> rank) {
  // Parts of a rotated log: the one written to last is the one that grows.
  std::map<std::string, std::int64_t> times;
  for (const std::string& path : paths) {
    const auto info = one.fs->Stat(path);
    times[path] = info.ok() ? info->mtime_ns : 0;
  }
  std::stable_sort(paths.begin(), paths.end(), [&](const std::string& a, const std::string& b) {
    return times[a] != times[b] ? times[a] < times[b] : a.size() > b.size();
  });
  const std::string live = paths.back();
  paths.pop_back();
  LogOptions options;
  options.format = source.format();
  options.pattern = source.pattern();
  const bool told = told_.WasTold(one.task.id(), ShownName(one.task.plan(), live));
  one.sources.push_back({std::make_unique<LogTail>(std::move(paths), live, std::move(options)), rank, told, ""});
}

// Files of the plan's patterns that are not followed yet.
void Follower::List(Followed& one) {
  const TaskBounds bounds = ports_.bounds();
  if (one.fs == nullptr || bounds.roots != one.bounds.roots || bounds.bytes_per_second != one.bounds.bytes_per_second) {
    // Open files refer to the limit that goes, and may stand outside the new roots. What is read again replaces what
    // was sent.
    one.sources.clear();
    one.paths.clear();
    one.bounds = bounds;
    one.rooted = std::make_unique<RootedFileSystem>(bounds.roots);
    if (bandwidth_ == nullptr || bandwidth_->bytes_per_second() != bounds.bytes_per_second) {
      bandwidth_ = std::make_shared<BandwidthLimit>(
          bounds.bytes_per_second, BandwidthLimit::Clock{[] { return absl::Now(); }, [this](absl::Duration time) {
                                                           WaitWhileFollowing(time);
                                                         }});
    }
    one.bandwidth = bandwidth_;
    one.fs = std::make_unique<LimitedFileSystem>(*one.rooted, *one.bandwidth);
  }
  for (const v1::LogSource& source : one.task.plan().logs()) {
    const auto found = ExpandPathPattern(*one.fs, ResolvePath(one.task.plan(), source.file()));
    if (!found.ok()) continue;
    std::map<std::pair<std::int32_t, std::string>, std::vector<std::string>> logs;
    std::set<std::string> there;
    for (const PathMatch& match : *found) there.insert(match.path);
    for (const PathMatch& match : *found) {
      if (!one.paths.insert(match.path).second) continue;
      const auto info = one.fs->Stat(match.path);
      const bool known = info.ok() && std::any_of(one.sources.begin(), one.sources.end(),
                                                  [&](const Source& s) { return s.tail->Knows(*info); });
      if (!known) logs[{match.captures.rank.value_or(-1), StemOf(match.path, there)}].push_back(match.path);
    }
    for (auto& [key, paths] : logs) {
      if (one.sources.size() >= kSourcesMax) {
        if (!std::exchange(one.too_many, true)) {
          log_.Warning(absl::StrCat("task ", one.task.id(), ": ", kSourcesMax, " logs are followed; the others of `",
                                    source.file(), "` are left to the report"));
        }
        break;
      }
      AddSource(one, source, std::move(paths), key.first >= 0 ? std::optional(key.first) : std::nullopt);
    }
  }
}

std::string Follower::EndOf(const Followed& one, const Source& source) const {
  const std::int64_t now = ports_.steady_ms();
  const std::int64_t quiet = now - std::max(source.tail->grew_ms(), one.started_ms);
  const v1::RunEnd::State end = source.tail->end();
  // The first look reads what was there before: how long that is ago, only the file tells.
  std::int64_t age = quiet;
  if (!source.told) {
    const auto info = one.fs->Stat(source.tail->path());
    if (info.ok()) age = std::max(age, ports_.wall_ms() - info->mtime_ns / 1'000'000);
  }
  if (age >= options_.quiet_ms && end == v1::RunEnd::STATE_FINISHED) return "finished";
  if (age >= options_.quiet_ms && end == v1::RunEnd::STATE_ABORTED) return "aborted";
  if (!source.told && source.tail->grew_ms() != 0 && age >= options_.idle_start_ms) return "idle";
  return quiet >= options_.idle_ms ? "idle" : "";
}

absl::Status Follower::Send(Followed& one, const Source& source, LogTailUpdate update) {
  const std::string name = ShownName(one.task.plan(), update.source);
  told_.DropTold(one.task.id(), name, update.steps);
  int at = 0;
  bool first = true;
  while (first || at < static_cast<int>(update.steps.size())) {
    std::vector<v1::Record> records(1);
    v1::StepChunk& chunk = *records[0].mutable_steps();
    chunk.set_task_id(one.task.id());
    chunk.set_run(one.task.plan().info().run());
    chunk.set_source(name);
    if (source.rank) chunk.set_rank(*source.rank);
    if (first) chunk.set_change(update.change);
    if (first && update.about) *chunk.mutable_about() = *std::move(update.about);
    for (int n = 0; n < kChunkSteps && at < static_cast<int>(update.steps.size()); ++n) {
      *chunk.add_steps() = std::move(update.steps[static_cast<std::size_t>(at++)]);
    }
    first = false;
    const auto put = recorder_.Put(RecordClass::kBulk, absl::MakeSpan(records), shutdown_, [](const absl::Status&) {});
    if (!put.ok()) return put.status();
    if (chunk.steps_size() > 0) told_.Told(one.task.id(), name, chunk.steps(chunk.steps_size() - 1));
  }
  return absl::OkStatus();
}

void Follower::LookAt(Followed& one, Source& source) {
  const bool first = !source.told;
  std::vector<LogTailUpdate> updates = source.tail->Poll(*one.fs, ports_.steady_ms(), kPollBytesMax);
  one.behind = one.behind || source.tail->more();
  if (source.tail->more()) return;
  source.ended = EndOf(one, source);
  // What ended before it was looked at is told by the report.
  if (first && !source.ended.empty()) return;
  for (LogTailUpdate& update : updates) {
    source.told = source.told || !update.steps.empty();
    const absl::Status sent = Send(one, source, std::move(update));
    if (!sent.ok() && !absl::IsCancelled(sent)) log_.Warning(absl::StrCat("a log's steps are lost: ", sent.message()));
  }
}

bool Follower::Finish(Followed& one, const std::string& ended, bool cancelled) {
  v1::Record record;
  v1::TaskEnd& end = *record.mutable_task_end();
  end.set_task_id(one.task.id());
  *end.mutable_plan() = one.task.plan().info();
  if (end.plan().node().empty()) end.mutable_plan()->set_node(node_);
  end.set_program(program_);
  end.set_collected_at_unix_ms(ports_.wall_ms());
  end.set_cancelled(cancelled);
  end.set_ended(ended);
  const auto put =
      recorder_.Put(RecordClass::kCritical, absl::MakeSpan(&record, 1), shutdown_, [](const absl::Status&) {});
  if (!put.ok() && absl::IsCancelled(put.status())) return false;
  told_.Forget(one.task.id());
  log_.Info(absl::StrCat("task ", one.task.id(), ": no log is followed any more (", ended, ")"));
  return true;
}

bool Follower::Look(Followed& one) {
  const StopReason stop = one.cancellation->reason();
  if (stop == StopReason::kCancelled || stop == StopReason::kDeadline) {
    return Finish(one, stop == StopReason::kDeadline ? "time_over" : "stopped", true);
  }
  const std::int64_t now = ports_.steady_ms();
  if (now >= one.list_due_ms) {
    one.list_due_ms = now + options_.list_ms;
    List(one);
  }
  one.behind = false;
  std::string ended;
  bool all = !one.sources.empty();
  for (Source& source : one.sources) {
    if (shutdown_.stopped()) return false;
    if (source.ended.empty()) LookAt(one, source);
    all = all && !source.ended.empty();
    // One that broke off speaks for the run, then one that finished.
    if (ended.empty() || source.ended == "aborted" || ended == "idle") ended = source.ended;
  }
  if (one.sources.empty() && now - one.started_ms >= options_.idle_ms) return Finish(one, "no_log", false);
  return all && Finish(one, ended, false);
}

}  // namespace paritect
