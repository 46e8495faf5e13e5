// The thread that compares what is followed with the baseline.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/message_bytes.h"
#include "formats/audit_file.h"
#include "server/audits/audits.h"
#include "server/live.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr std::int64_t kWaitMs = 250;
// Comparing takes longer the longer the run: at most this share of a core.
constexpr std::int64_t kCostFactor = 20;

std::string KeyOf(const LiveFinding& found) {
  return absl::StrCat(found.event, "/", found.finding.kind(), "/", found.finding.subject());
}

// What a comparison of runs reads of a bundle: data sets may be as large as they like.
v1::StoredBundle LogsOf(const v1::StoredBundle& stored) {
  v1::StoredBundle out = stored;
  out.clear_pieces();
  for (const v1::Piece& piece : stored.pieces()) {
    if (piece.kind() == v1::EVIDENCE_KIND_RUN_LOG || piece.kind() == v1::EVIDENCE_KIND_SETTINGS) {
      *out.add_pieces() = piece;
    }
  }
  return out;
}

}  // namespace

void Live::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const bool told = TellOutboxes(lock);
    if (!CompareOne(lock) && !told) changed_.wait_for(lock, std::chrono::milliseconds(kWaitMs));
  }
}

std::vector<v1::Bundle> Live::LoadBaseline(const v1::LiveFollow& follow) {
  std::vector<v1::StoredBundle> stored;
  const v1::AuditSide& side = follow.definition().baseline();
  for (const std::string& run : side.runs()) {
    auto recorded = ReadRecordedRun(store_, run, NodesOfRun(side, run));
    if (recorded.ok()) stored.insert(stored.end(), recorded->counted.begin(), recorded->counted.end());
  }
  if (side.nodes_size() > 0) {
    v1::AuditRun newest;
    const std::string wanted = side.SerializeAsString();
    store_
        .Scan("audit_run", GroupPrefix(follow.audit()), "",
              [&](absl::string_view, absl::string_view value) {
                v1::AuditRun run;
                if (!run.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
                const bool fits = run.state() == v1::AUDIT_RUN_STATE_DONE &&
                                  run.definition().baseline().SerializeAsString() == wanted;
                if (fits) newest = std::move(run);
                return true;
              })
        .IgnoreError();
    stored.assign(newest.baseline_bundles().begin(), newest.baseline_bundles().end());
  }
  std::vector<v1::Bundle> bundles;
  for (const v1::StoredBundle& one : stored) {
    auto bundle = ports_.load_bundle(LogsOf(one));
    if (bundle.ok()) bundles.push_back(*std::move(bundle));
  }
  return bundles;
}

// After a restart: the steps that were stored before it. Without the lock.
void Live::ReadBack(const v1::LiveFollow& follow) {
  std::set<std::string> nodes;
  for (const v1::NodeTask& task : follow.tasks()) nodes.insert(task.node());
  for (const std::string& node : nodes) {
    const auto take = [&](const BatchWrite& write) {
      v1::Batch batch;
      if (!ParseStable(write.payload, batch)) return true;
      for (const v1::Envelope& envelope : batch.envelopes()) {
        v1::Record record;
        if (!ParseStable(envelope.record(), record) || !record.has_steps()) continue;
        std::lock_guard<std::mutex> lock(mutex_);
        const auto found = active_.find(follow.audit());
        if (found != active_.end()) Apply(node, record.steps(), found->second);
      }
      std::lock_guard<std::mutex> lock(mutex_);
      return !stopping_;
    };
    store_.ScanBatches(node, take).IgnoreError();
  }
}

std::vector<v1::Bundle> Live::MigratedBundles(const Active& active) const {
  std::map<std::pair<std::string, int>, v1::Bundle> bundles;
  for (const auto& [key, series] : active.series) {
    v1::Bundle& bundle = bundles[{series.node, series.plan}];
    *bundle.mutable_plan() = active.follow.definition().migrated().plans(series.plan).info();
    bundle.mutable_plan()->set_node(series.node);
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(series.head.source());
    if (series.head.has_rank()) evidence.set_rank(series.head.rank());
    v1::RunLog& log = *evidence.mutable_run_log();
    log = series.about;
    for (const auto& [step, record] : series.records) *log.add_records() = record;
    for (const auto& [line, record] : series.unplaced) *log.add_records() = record;
    std::stable_sort(log.mutable_records()->begin(), log.mutable_records()->end(),
                     [](const v1::StepRecord& a, const v1::StepRecord& b) { return a.step() < b.step(); });
    if (log.records_size() == 0) continue;
    v1::Segment& segment = *log.add_segments();
    segment.set_first(log.records(0).step());
    segment.set_last(log.records(log.records_size() - 1).step());
    log.mutable_end()->set_last_step(segment.last());
  }
  std::vector<v1::Bundle> out;
  for (auto& [key, bundle] : bundles) out.push_back(std::move(bundle));
  return out;
}

// Under the lock: what is new and stood for long enough.
void Live::NewEvents(Active& active, const std::vector<LiveFinding>& found, std::int64_t now) {
  std::map<std::string, std::int64_t> seen;
  for (const LiveFinding& one : found) {
    const std::string key = KeyOf(one);
    if (active.told.count(key) > 0) continue;
    const auto before = active.seen.find(key);
    const std::int64_t since = before == active.seen.end() ? now : before->second;
    if (now - since < options_.settle_ms && active.ending.empty()) {
      seen[key] = since;
      continue;
    }
    active.told.insert(key);
    const std::string same = absl::StrCat(key, "/", one.step.value_or(0), "/", one.finding.migrated());
    if (!active.earlier.insert(same).second) continue;
    v1::LiveEvent event = NewEvent(active, one.event, "");
    event.set_training_run(one.training_run);
    event.set_has_step(one.step.has_value());
    event.set_step(one.step.value_or(0));
    *event.mutable_finding() = one.finding;
    std::set<std::string> nodes;
    for (const auto& [name, series] : active.series) {
      if (series.run == one.training_run) nodes.insert(series.node);
    }
    if (nodes.size() == 1) event.set_node(*nodes.begin());
    active.outbox.push_back(std::move(event));
  }
  active.seen = std::move(seen);
}

// Gives the lock up while it reads and compares.
bool Live::CompareOne(std::unique_lock<std::mutex>& lock) {
  const std::int64_t now = clock_();
  const auto due = std::find_if(active_.begin(), active_.end(), [&](const auto& one) {
    const Active& active = one.second;
    return !active.over && now >= active.due_ms &&
           (active.dirty || active.read_back || !active.seen.empty() || !active.ending.empty());
  });
  if (due == active_.end()) return false;
  const std::string audit = due->first;
  v1::LiveFollow follow = due->second.follow;
  const absl::Time began = absl::Now();
  if (due->second.read_back || due->second.baseline_due) {
    const bool read_back = due->second.read_back;
    due->second.baseline_due = false;
    lock.unlock();
    if (read_back) ReadBack(follow);
    std::vector<v1::Bundle> baseline = LoadBaseline(follow);
    lock.lock();
    const auto again = active_.find(audit);
    if (again == active_.end()) return true;
    again->second.baseline = std::move(baseline);
    if (read_back) again->second.read_back = false;
    again->second.dirty = true;
  }
  Active& active = active_.find(audit)->second;
  active.dirty = false;
  const bool ending = !active.ending.empty();
  const EvidenceSet evidence(active.baseline, MigratedBundles(active));
  lock.unlock();
  auto profile = ReadAuditProfile(follow.definition(), rules_.profile);
  std::vector<LiveFinding> found;
  if (profile.ok() && !evidence.bundles(Side::kMigrated).empty()) found = CompareLive({evidence, *profile, rules_});
  lock.lock();
  const auto again = active_.find(audit);
  if (again == active_.end() || again->second.follow.run() != follow.run()) return true;
  const std::int64_t cost = absl::ToInt64Milliseconds(absl::Now() - began);
  again->second.due_ms = clock_() + std::max(options_.every_ms, kCostFactor * cost);
  NewEvents(again->second, found, clock_());
  if (!ending) return true;
  // The last event and the end of the follow are stored together: whoever waits for events sees the last ones before it
  // hears that no more will come.
  if (again->second.started) {
    again->second.outbox.push_back(NewEvent(again->second, "live_ended", again->second.ending));
  }
  again->second.over = true;
  return true;
}

}  // namespace paritect
