#include "agent/daemon/simulated_agent.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {
namespace {

// Steps are printed one by one; an agent that reads a log sees those of a moment together.
constexpr std::int64_t kGroupUs = 200'000;
constexpr std::int64_t kGroupRecordsMax = 20'000;

const std::vector<std::string>& MetricNames() {
  static const auto* const names =
      new std::vector<std::string>{"time_per_step_ms", "tokens_per_second", "memory_allocated_gib"};
  return *names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SimulatedAgent>> SimulatedAgent::Make(const SimulatedNode& node, int rank,
                                                                     const SimulationOptions& options,
                                                                     SimulationPorts ports) {
  SpoolOptions spool_options;
  spool_options.max_bytes = std::uint64_t{64} << 20;
  spool_options.sync = options.sync;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Spool> spool, Spool::Open(node.folder + "/spool", spool_options,
                                                                      [] { return absl::ToUnixMillis(absl::Now()); }));
  return std::unique_ptr<SimulatedAgent>(new SimulatedAgent(node, rank, options, std::move(ports), std::move(spool)));
}

SimulatedAgent::SimulatedAgent(const SimulatedNode& node, int rank, const SimulationOptions& options,
                               SimulationPorts ports, std::unique_ptr<Spool> spool)
    : name_(node.credential.identity.name),
      rank_(rank),
      options_(options),
      ports_(std::move(ports)),
      spool_(std::move(spool)),
      transport_({node.credential.authority_pem, node.credential.certificate_pem, node.credential.key_pem}) {
  UplinkOptions uplink_options;
  uplink_options.servers = node.credential.servers;
  uplink_ = std::make_unique<Uplink>(std::move(uplink_options), *spool_, transport_, MakePorts());
  durable_ = spool_->Stats().low_water;
  const double rate = options.records_per_second;
  period_us_ = rate <= 0 ? 0 : std::max(kGroupUs, static_cast<std::int64_t>(1e6 / rate));
  step_ = static_cast<std::int64_t>(spool_->Stats().accepted_sequence);
}

UplinkPorts SimulatedAgent::MakePorts() {
  UplinkPorts ports;
  ports.steady_ms = [this] { return ports_.steady_us() / 1000; };
  ports.wall_ms = [] { return absl::ToUnixMillis(absl::Now()); };
  ports.random = ports_.random;
  ports.wake = ports_.wake;
  ports.hello = [] {
    v1::Hello hello;
    hello.set_program("paritect-agent simulate");
    (*hello.mutable_labels())["simulated"] = "true";
    return hello;
  };
  // A task of an audit: a simulated node has nothing to show, and says so.
  ports.on_task = [this](const v1::Task& task) {
    v1::Record record;
    record.set_observed_at_unix_ms(absl::ToUnixMillis(absl::Now()));
    record.mutable_task_end()->set_task_id(task.id());
    record.mutable_task_end()->set_refused("a simulated node");
    (void)spool_->Append(RecordClass::kCritical, {{NewRecord{record.SerializeAsString(), 0}}});
  };
  ports.on_cancel = [](const std::string&) {};
  ports.on_acknowledged = [this](std::uint64_t durable) { OnAcknowledged(durable); };
  ports.on_connected = [](const std::string&, const v1::Welcome&) {};
  ports.on_disconnected = [this](const std::string&, const absl::Status& status, std::int64_t) {
    if (!status.ok()) trouble_ = std::string(status.message());
  };
  return ports;
}

std::int64_t SimulatedAgent::Step(const std::optional<Window>& window) {
  const std::int64_t now = ports_.steady_us();
  const bool produces = window && period_us_ > 0;
  if (produces) Produce(now, *window);
  const std::int64_t due = now + uplink_->Step() * 1000;
  return produces && next_group_us_ < window->until_us ? std::min(due, next_group_us_) : due;
}

// As many as the rate asks for by now; where the spool is full, they come later.
void SimulatedAgent::Produce(std::int64_t now_us, const Window& window) {
  if (began_us_ == 0) {
    // Not all at the same moment.
    began_us_ = window.begin_us + static_cast<std::int64_t>(ports_.random() * static_cast<double>(period_us_));
    next_group_us_ = began_us_;
  }
  if (now_us < next_group_us_ || next_group_us_ >= window.until_us) return;
  next_group_us_ = now_us + period_us_;
  const double elapsed = static_cast<double>(std::min(now_us, window.until_us) - began_us_) / 1e6;
  const std::int64_t wanted = static_cast<std::int64_t>(elapsed * options_.records_per_second) + 1 - produced_;
  std::vector<NewRecord> batch;
  for (std::int64_t i = 0; i < std::min(wanted, kGroupRecordsMax); ++i) {
    batch.push_back({NextRecord(), absl::ToUnixMillis(absl::Now())});
  }
  if (batch.empty()) return;
  const auto last = spool_->Append(RecordClass::kCritical, batch);
  if (!last.ok()) {
    ++refused_;
    return;
  }
  produced_ += static_cast<std::int64_t>(batch.size());
  groups_.push_back({*last, static_cast<std::int64_t>(batch.size()), now_us});
}

// About 200 bytes, as a training step has.
std::string SimulatedAgent::NextRecord() {
  v1::Record record;
  record.set_observed_at_unix_ms(absl::ToUnixMillis(absl::Now()));
  v1::StepChunk& chunk = *record.mutable_steps();
  chunk.set_run("simulated");
  chunk.set_rank(rank_);
  chunk.set_source("/var/log/simulated/train.log");
  v1::StepRecord& step = *chunk.add_steps();
  step.set_step(++step_);
  const double x = static_cast<double>(step_);
  step.set_loss(10 / (1 + x / 1000) + 0.01 * ports_.random());
  step.set_lr(0.001 / (1 + x / 1000));
  step.set_grad_norm(1 + ports_.random());
  step.set_loss_scale(65536);
  step.set_samples(step_ * 256);
  step.set_line(step_);
  auto& metrics = *step.mutable_metrics();
  for (const std::string& name : MetricNames()) metrics[name] = 300 + ports_.random();
  return record.SerializeAsString();
}

void SimulatedAgent::OnAcknowledged(std::uint64_t durable) {
  const std::int64_t now = ports_.steady_us();
  durable_ = std::max(durable_, durable);
  last_ack_us_ = now;
  while (!groups_.empty() && groups_.front().last <= durable) {
    latency_.Add(now - groups_.front().appended_us, groups_.front().count);
    delivered_ += groups_.front().count;
    groups_.pop_front();
  }
}

void SimulatedAgent::AddTo(SimulationResult& result) const {
  const UplinkStats& stats = uplink_->stats();
  ++result.agents;
  result.connected += stats.sessions > 0;
  result.sessions += stats.sessions;
  result.appended += produced_;
  result.acknowledged += delivered_;
  result.undelivered += !delivered();
  result.refused += refused_;
  result.resends += stats.resends;
  result.throttles += stats.throttles;
  if (last_ack_us_ > 0 && began_us_ > 0) result.send_ms = std::max(result.send_ms, (last_ack_us_ - began_us_) / 1000);
  result.latency.Add(latency_);
  if (!trouble_.empty()) result.trouble = trouble_;
}

}  // namespace paritect
