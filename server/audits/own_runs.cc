#include "server/audits/own_runs.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/message_bytes.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {

bool OwnRuns::IsOwn(const v1::TaskEnd& end) {
  return absl::StartsWith(end.task_id(), "own:");
}

// The end of its task goes with the same commit: what is left of them at a start was not recorded yet.
void OwnRuns::Record(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  WriteSet set;
  set.documents.push_back({"task_end", TaskEndKey(end.task_id(), node), std::nullopt, {}});
  if (end.cancelled() || !end.refused().empty()) {
    ports_.commit(std::move(set)).IgnoreError();
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
  if (!known.ok() || !known->has_value()) set.documents.push_back(std::move(bundle.documents[0]));
  ports_.commit(std::move(set)).IgnoreError();
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
