#include "agent/daemon/simulator.h"

#include <stdio.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <optional>
#include <queue>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/daemon/simulated_agent.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::int64_t kIdleUs = 1'000'000;
constexpr std::int64_t kTickUs = 1'000'000;
constexpr std::int64_t kStopUs = 3'000'000;
constexpr rlim_t kDescriptorsPerAgent = 12;

std::int64_t SteadyUs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

absl::Status RaiseDescriptorLimit(std::size_t agents) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = 100 + agents * kDescriptorsPerAgent;
  if (limit.rlim_cur >= wanted) return absl::OkStatus();
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_max < wanted || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat(agents, " agents need ", wanted, " open files; the limit is ",
                                                     limit.rlim_max, ": raise it (ulimit -n) or take fewer"));
  }
  return absl::OkStatus();
}

// What is acknowledged, for whoever compares it with what a server has stored. Thread-safe.
class Ledger {
 public:
  absl::Status Open(const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    out_.open(path, std::ios::trunc);
    return out_.is_open() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("cannot write ", path));
  }
  void Note(const SimulatedAgent& agent) {
    if (!out_.is_open()) return;
    const std::string line = absl::StrFormat("{\"node\":\"%s\",\"epoch\":\"%016x\",\"acknowledged\":%u}\n",
                                             agent.name(), agent.epoch(), agent.durable());
    absl::MutexLock lock(&mutex_);
    out_ << line;
  }
  void Flush() {
    absl::MutexLock lock(&mutex_);
    if (out_.is_open()) out_.flush();
  }

 private:
  absl::Mutex mutex_;
  std::ofstream out_;
};

// Some agents of the fleet on one thread.
class Shard {
 public:
  Shard(const SimulationOptions& options, Ledger& ledger, unsigned seed)
      : options_(options), ledger_(ledger), generator_(seed) {}

  absl::Status Add(const SimulatedNode& node, int rank) {
    const std::size_t index = agents_.size();
    SimulationPorts ports;
    ports.steady_us = &SteadyUs;
    ports.random = [this] { return std::uniform_real_distribution<double>(0, 1)(generator_); };
    ports.wake = [this, index] { Wake(index); };
    PARITECT_ASSIGN_OR_RETURN(agents_.emplace_back(), SimulatedAgent::Make(node, rank, options_, std::move(ports)));
    due_.push_back(0);
    noted_.push_back(0);
    return absl::OkStatus();
  }

  // Until everything that was appended is acknowledged and the sessions are closed, or the patience is over.
  void Run() {
    for (std::size_t i = 0; i < agents_.size(); ++i) Wake(i);
    bool begun = false;
    bool stopping = false;
    std::int64_t stop_by_us = 0;
    for (std::int64_t tick_us = 0;;) {
      const std::int64_t now = SteadyUs();
      const std::optional<SimulatedAgent::Window> window = Window();
      if (window && !begun) {
        begun = true;
        for (std::size_t i = 0; i < agents_.size(); ++i) Wake(i);
      }
      if (now >= tick_us) {
        tick_us = now + kTickUs;
        Tick();
        const bool over = window && now >= window->until_us;
        if (!stopping && over && (now >= window->until_us + options_.patience_ms * 1000 || Delivered())) {
          stopping = true;
          stop_by_us = now + kStopUs;
          for (const auto& agent : agents_) agent->Stop();
        }
        if (stopping && (now >= stop_by_us || Stopped())) break;
      }
      // What was not produced by now is none of what was delivered.
      StepWhatIsDue(now, stopping ? std::nullopt : window);
      Rest(std::min(tick_us, timers_.empty() ? now + kIdleUs : timers_.top().first));
    }
    Tick();
  }

  // From now on records are sent. Any thread.
  void Begin(std::int64_t begin_us) { begin_us_ = begin_us; }

  // A snapshot, at most a tick old. Any thread.
  SimulationResult result() {
    absl::MutexLock lock(&mutex_);
    return result_;
  }

 private:
  std::optional<SimulatedAgent::Window> Window() const {
    const std::int64_t begin_us = begin_us_;
    if (begin_us == 0) return std::nullopt;
    return SimulatedAgent::Window{begin_us, begin_us + options_.duration_ms * 1000};
  }

  void Wake(std::size_t index) {
    absl::MutexLock lock(&mutex_);
    woken_.push_back(index);
  }

  void StepWhatIsDue(std::int64_t now, const std::optional<SimulatedAgent::Window>& window) {
    std::vector<std::size_t> ready;
    {
      absl::MutexLock lock(&mutex_);
      ready.swap(woken_);
    }
    for (; !timers_.empty() && timers_.top().first <= now; timers_.pop()) {
      if (due_[timers_.top().second] == timers_.top().first) ready.push_back(timers_.top().second);
    }
    std::sort(ready.begin(), ready.end());
    ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
    for (const std::size_t i : ready) {
      const std::int64_t due = std::max(now + 1, agents_[i]->Step(window));
      if (due == due_[i]) continue;
      due_[i] = due;
      timers_.emplace(due, i);
    }
  }

  void Rest(std::int64_t until_us) {
    const std::int64_t pause = until_us - SteadyUs();
    if (pause <= 0) return;
    absl::MutexLock lock(&mutex_);
    const auto woken = [this] {
      mutex_.AssertReaderHeld();
      return !woken_.empty();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&woken), absl::Microseconds(pause));
  }

  void Tick() {
    SimulationResult result;
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      agents_[i]->AddTo(result);
      if (agents_[i]->durable() != noted_[i]) ledger_.Note(*agents_[i]);
      noted_[i] = agents_[i]->durable();
    }
    ledger_.Flush();
    absl::MutexLock lock(&mutex_);
    result_ = result;
  }

  bool Delivered() const {
    return std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) { return agent->delivered(); });
  }
  bool Stopped() const {
    return std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) { return agent->stopped(); });
  }

  const SimulationOptions& options_;
  Ledger& ledger_;
  std::minstd_rand generator_;
  std::atomic<std::int64_t> begin_us_ = 0;
  std::vector<std::int64_t> due_;
  std::vector<std::uint64_t> noted_;  // in the ledger
  using Timer = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  absl::Mutex mutex_;
  std::vector<std::size_t> woken_ ABSL_GUARDED_BY(mutex_);
  SimulationResult result_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<SimulatedAgent>> agents_;  // last: they wake until they are gone
};

void Merge(const SimulationResult& from, SimulationResult& to) {
  to.agents += from.agents;
  to.connected += from.connected;
  to.sessions += from.sessions;
  to.appended += from.appended;
  to.acknowledged += from.acknowledged;
  to.undelivered += from.undelivered;
  to.refused += from.refused;
  to.resends += from.resends;
  to.throttles += from.throttles;
  to.send_ms = std::max(to.send_ms, from.send_ms);
  to.latency.Add(from.latency);
  if (!from.trouble.empty()) to.trouble = from.trouble;
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const std::vector<SimulatedNode>& nodes, const SimulationOptions& options,
                                          const std::function<void(const SimulationResult&)>& tick) {
  PARITECT_RETURN_IF_ERROR(RaiseDescriptorLimit(nodes.size()));
  Ledger ledger;
  PARITECT_RETURN_IF_ERROR(ledger.Open(options.record_path));
  const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(options.threads), 1, nodes.size());
  std::vector<std::unique_ptr<Shard>> shards;
  for (std::size_t i = 0; i < count; ++i) {
    shards.push_back(std::make_unique<Shard>(options, ledger, std::random_device{}()));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PARITECT_RETURN_IF_ERROR(shards[i % count]->Add(nodes[i], static_cast<int>(i)));
  }
  std::atomic<std::size_t> running = count;
  std::vector<std::thread> threads;
  for (const auto& shard : shards) {
    threads.emplace_back([&shard, &running] {
      shard->Run();
      --running;
    });
  }
  const auto gather = [&shards] {
    SimulationResult all;
    for (const auto& shard : shards) Merge(shard->result(), all);
    return all;
  };
  // A fleet that connects is one thing to measure, a fleet that sends another.
  const std::int64_t start_us = SteadyUs();
  std::int64_t connect_ms = 0;
  bool begun = false;
  for (int i = 0; running > 0; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    const SimulationResult now = gather();
    if (!begun) connect_ms = (SteadyUs() - start_us) / 1000;
    if (!begun && (now.connected == static_cast<std::int64_t>(nodes.size()) || connect_ms >= options.patience_ms)) {
      begun = true;
      for (const auto& shard : shards) shard->Begin(SteadyUs());
    }
    if (i % 10 == 9) tick(now);
  }
  for (std::thread& thread : threads) thread.join();
  SimulationResult result = gather();
  result.connect_ms = connect_ms;
  return result;
}

}  // namespace paritect
