#include "server/audits/gathering.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "server/audits/collecting.h"
#include "server/audits/silent_bundle.h"
#include "server/recorded_runs.h"

namespace paritect {
namespace {

constexpr int kLogPage = 1000;
constexpr std::int64_t kWholeLogEveryMs = 3'600'000;
constexpr std::uint64_t kLargestShare = 2;  // of the budget, of one bundle

// What an answer is evidence of is the audit's to say: a node that named another run would put its bundle there.
void OwnTheAnswer(const v1::AuditRun& run, const v1::PlanInfo& asked, v1::StoredBundle& stored) {
  v1::PlanInfo& plan = *stored.mutable_plan();
  plan.set_run(asked.run());
  plan.set_role(asked.role());
  plan.clear_identity();
  plan.mutable_identity()->set_key(AuditPlanKey());
  stored.set_source(absl::StrCat("audit ", run.audit(), " #", run.number()));
  stored.set_origin(v1::BUNDLE_ORIGIN_AUDIT);
}

class Gatherer {
 public:
  Gatherer(FleetStore& store, const GatheringPorts& ports, const v1::AuditRun& run, Gathered& out)
      : store_(store), ports_(ports), run_(run), out_(out) {}

  absl::Status TakeSide(Side which) {
    const bool migrated = which == Side::kMigrated;
    const v1::AuditSide& side = migrated ? run_.definition().migrated() : run_.definition().baseline();
    PARITECT_RETURN_IF_ERROR(TakeRecorded(side, which));
    for (int plan = 0; plan < side.plans_size(); ++plan) {
      for (int index = 0; index < run_.tasks_size(); ++index) {
        const v1::NodeTask& task = run_.tasks(index);
        if (task.migrated() != migrated || task.plan() != plan || !task.questions().empty()) continue;
        TakeTask(side.plans(plan), index, which);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status TakeRecorded(const v1::AuditSide& side, Side which) {
    for (const std::string& name : side.runs()) {
      const std::vector<std::string> nodes = NodesOfRun(side, name);
      PARITECT_ASSIGN_OR_RETURN(const RecordedRun recorded, ReadRecordedRun(store_, name, nodes));
      for (const v1::StoredBundle& stored : recorded.counted) Load(stored, which);
      for (const std::string& damage : recorded.damaged) out_.facts.damaged_records.push_back(damage);
      FleetFacts::Recorded fact = {which, name};
      fact.replaced = static_cast<int>(recorded.replaced.size());
      fact.nodes_named = !nodes.empty();
      for (const v1::StoredBundle& stored : recorded.left_out) fact.left_out.insert(stored.plan().node());
      out_.facts.recorded.push_back(std::move(fact));
    }
    return absl::OkStatus();
  }

  void TakeTask(const v1::Plan& plan, int index, Side which) {
    const v1::NodeTask& task = run_.tasks(index);
    if (task.state() == v1::NODE_TASK_STATE_DONE) {
      auto stored = ports_.stored_bundle(task);
      if (stored.ok()) OwnTheAnswer(run_, plan.info(), *stored);
      if (!stored.ok()) {
        out_.facts.damaged_records.push_back(absl::StrCat(task.node(), ": ", stored.status().message()));
      }
      if (stored.ok() && Load(*stored, which)) {
        out_.side(which).task_of.back() = index;
        out_.fresh.push_back(*std::move(stored));
        return;
      }
    }
    const bool refused = task.state() == v1::NODE_TASK_STATE_REFUSED;
    out_.side(which).bundles.push_back(SilentBundle(plan, task.node(), refused ? task.detail() : ""));
    out_.side(which).task_of.push_back(-1);
  }

  // False: it is damaged, and that is noted.
  bool Load(const v1::StoredBundle& stored, Side which) {
    GatheredSide& side = out_.side(which);
    auto bundle = LoadWithinBudget(stored);
    out_.facts.records_checked += stored.pieces_size();
    if (bundle.ok()) {
      side.bundles.push_back(*std::move(bundle));
      side.task_of.push_back(-1);
    } else {
      out_.facts.damaged_records.push_back(absl::StrCat(stored.plan().node(), ": ", bundle.status().message()));
    }
    side.stored.push_back(stored);
    return bundle.ok();
  }

  // All evidence of an audit is in memory at once. One bundle takes a part of what there is at the most: whoever sends
  // too much leaves the others theirs.
  absl::StatusOr<v1::Bundle> LoadWithinBudget(const v1::StoredBundle& stored) {
    const MessageBudget whole;
    MessageBudget& left = out_.budget;
    MessageBudget share;
    share.entries = std::min(left.entries, whole.entries / kLargestShare);
    share.memory_bytes = std::min(left.memory_bytes, whole.memory_bytes / kLargestShare);
    const MessageBudget before = share;
    auto bundle = ports_.load_bundle(stored, share, &out_.lists);
    left.entries -= before.entries - share.entries;
    left.memory_bytes -= before.memory_bytes - share.memory_bytes;
    return bundle;
  }

  FleetStore& store_;
  const GatheringPorts& ports_;
  const v1::AuditRun& run_;
  Gathered& out_;
};

using NodesByName = std::map<std::string, const KnownNode*>;

// A node that a side's patterns fit and that is revoked is one that did not report: it must not vanish.
void AddRevoked(const v1::AuditRun& run, const NodesByName& known, FleetFacts& facts) {
  for (const std::string& name : run.revoked_nodes()) {
    FleetFacts::Node fact;
    const auto& baseline = run.definition().baseline().nodes();
    const bool is_baseline = std::any_of(baseline.begin(), baseline.end(),
                                         [&](const std::string& pattern) { return GlobMatch(pattern, name); });
    fact.side = is_baseline ? Side::kBaseline : Side::kMigrated;
    fact.name = name;
    const auto found = known.find(name);
    const bool seen = found != known.end() && found->second->last_seen_unix_ms > 0;
    if (seen) fact.last_seen = FormatTime(found->second->last_seen_unix_ms);
    fact.revoked = true;
    facts.nodes.push_back(std::move(fact));
  }
}

void AddAsked(const v1::AuditRun& run, const NodesByName& known, FleetFacts& facts) {
  std::map<std::pair<bool, std::string>, bool> reported;
  std::set<std::pair<bool, std::string>> unfinished;
  for (const v1::NodeTask& task : run.tasks()) {
    if (!task.questions().empty()) continue;
    auto [one, fresh] = reported.try_emplace({task.migrated(), task.node()}, true);
    one->second = one->second && task.state() == v1::NODE_TASK_STATE_DONE;
    if (task.state() == v1::NODE_TASK_STATE_SILENT && task.detail() == kUnfinished) {
      unfinished.insert({task.migrated(), task.node()});
    }
  }
  for (const auto& [node, all] : reported) {
    FleetFacts::Node fact;
    fact.side = node.first ? Side::kMigrated : Side::kBaseline;
    fact.name = node.second;
    fact.reported = all;
    fact.unfinished = unfinished.count(node) > 0;
    if (const auto found = known.find(node.second); found != known.end()) {
      const KnownNode& one = *found->second;
      if (one.last_seen_unix_ms > 0) fact.last_seen = FormatTime(one.last_seen_unix_ms);
      fact.clock_offset_ms = one.clock_offset_ms;
      fact.revoked = one.revoked;
      fact.contested = one.contested_unix_ms > 0 && one.contested_unix_ms >= run.started_unix_ms();
      const auto before = run.lost_before().find(node.second);
      fact.lost_records = one.lost_records - (before == run.lost_before().end() ? 0 : before->second);
    }
    facts.nodes.push_back(std::move(fact));
  }
}

}  // namespace

void LogFollower::Follow(FleetStore& store, std::int64_t now_unix_ms, FleetFacts& facts) {
  if (now_unix_ms - whole_unix_ms_ >= kWholeLogEveryMs || now_unix_ms < whole_unix_ms_) {
    last_.reset();
    whole_unix_ms_ = now_unix_ms;
  }
  facts.log_entries = last_ ? last_->number() : 0;
  for (;;) {
    auto page = store.ReadLog(facts.log_entries + 1, kLogPage);
    if (!page.ok()) facts.log_fault = std::string(page.status().message());
    if (!page.ok() || page->empty()) break;
    for (const v1::AuditLogEntry& entry : *page) {
      facts.log_fault = CheckLogLink(last_ ? &*last_ : nullptr, entry);
      if (!facts.log_fault.empty()) break;
      last_ = entry;
      ++facts.log_entries;
    }
    if (!facts.log_fault.empty()) break;
  }
  // A fault is looked at again, from the first entry.
  if (!facts.log_fault.empty()) whole_unix_ms_ = 0;
}

absl::Status Gather(FleetStore& store, const GatheringPorts& ports, const v1::AuditRun& run, Gathered& out) {
  Gatherer gatherer(store, ports, run, out);
  for (Side side : kBothSides) PARITECT_RETURN_IF_ERROR(gatherer.TakeSide(side));
  out.lists.known = {};  // nothing more is read
  return absl::OkStatus();
}

void AddFleetFacts(const v1::AuditRun& run, const std::vector<KnownNode>& known, FleetFacts& facts) {
  NodesByName by_name;
  for (const KnownNode& node : known) by_name[node.name] = &node;
  AddAsked(run, by_name, facts);
  AddRevoked(run, by_name, facts);
}

}  // namespace paritect
