#include "server/audits/own_runs.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/message_bytes.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr std::int64_t kCountedAgainAfterMs = 60'000;
constexpr std::int64_t kTriedAgainAfterMs = 10'000;

v1::AuditLogEntry RefusalEntry(const std::string& node, const v1::StoredBundle& stored, int bundles_max,
                               std::int64_t now_unix_ms) {
  v1::AuditLogEntry entry;
  entry.set_at_unix_ms(now_unix_ms);
  entry.set_actor(absl::StrCat("agent/", node));
  entry.set_action("Record");
  entry.set_subject(stored.plan().run());
  entry.set_outcome(absl::StrCat("refused: the node has ", bundles_max,
                                 " bundles here; remove runs (`paritect runs rm`), or set a retention"));
  return entry;
}

}  // namespace

bool OwnRuns::IsOwn(const v1::TaskEnd& end) {
  return absl::StartsWith(end.task_id(), "own:");
}

// The end of its task goes with the same commit: what is left of them at a start was not recorded yet.
void OwnRuns::Record(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  WriteSet set;
  set.documents.push_back({"task_end", TaskEndKey(end.task_id(), node), std::nullopt, {}});
  if (end.cancelled() || !end.refused().empty()) {
    Commit(std::move(set));
    return;
  }
  v1::NodeTask task;
  task.set_task_id(end.task_id());
  task.set_node(node);
  task.set_attempt(end.attempt());
  task.set_epoch(epoch);
  task.set_pieces(end.pieces());
  auto stored = ports_.stored_bundle(task);
  if (!stored.ok() || stored->plan().run().empty()) return;  // its pieces stay, `verify` names what is damaged
  stored->set_source(absl::StrCat("plan of node ", node));
  stored->set_origin(v1::BUNDLE_ORIGIN_NODE);
  stored->set_stored_unix_ms(clock_());
  // The same bundle of an import or an audit stays theirs: it says whose run it is.
  WriteSet bundle;
  const std::string key = AddBundleDocument(*stored, bundle);
  const auto known = store_.Get("bundle", key);
  const bool is_new = !known.ok() || !known->has_value();
  if (is_new && HasRoom(node)) {
    set.documents.push_back(std::move(bundle.documents[0]));
  } else if (is_new) {
    set.log.push_back(RefusalEntry(node, *stored, bundles_of_node_max_, clock_()));
  }
  Commit(std::move(set));
}

void OwnRuns::Commit(WriteSet set) {
  if (ports_.commit(std::move(set)).ok()) return;
  tried_unix_ms_ = clock_();
  left_ = true;
}

void OwnRuns::TryAgain() {
  const std::int64_t now = clock_();
  if (!left_ || std::abs(now - tried_unix_ms_) < kTriedAgainAfterMs) return;
  left_ = false;
  RecordLeft();
}

void OwnRuns::CountBundles() {
  bundles_of_.clear();
  const auto add = [&](absl::string_view, absl::string_view value) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    v1::StoredBundle bundle;
    if (ParseStable(value, bundle) && bundle.origin() == v1::BUNDLE_ORIGIN_NODE) ++bundles_of_[bundle.plan().node()];
    return true;
  };
  store_.Scan("bundle", "", "", add).IgnoreError();
  counted_unix_ms_ = clock_();
}

bool OwnRuns::HasRoom(const std::string& node) {
  absl::MutexLock lock(&mutex_);
  const auto is_full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return bundles_of_[node] >= bundles_of_node_max_;
  };
  // Others take bundles away; the count is set right when it matters.
  const bool is_old = clock_() - counted_unix_ms_ >= kCountedAgainAfterMs;
  if (counted_unix_ms_ == 0 || (is_full() && is_old)) CountBundles();
  if (is_full()) return false;
  ++bundles_of_[node];
  return true;
}

void OwnRuns::RecordLeft() {
  std::vector<std::pair<std::string, v1::TaskEnd>> left;
  store_
      .Scan("task_end", "own", "",
            [&](absl::string_view key, absl::string_view value) {
              v1::TaskEnd end;
              const auto parts = SplitKey(key);
              if (!parts || parts->size() != 2 || !ParseStable(value, end)) return true;
              if (IsOwn(end)) left.emplace_back((*parts)[1], std::move(end));
              return true;
            })
      .IgnoreError();
  for (const auto& [node, end] : left) Record(node, end.epoch(), end);
}

}  // namespace paritect
