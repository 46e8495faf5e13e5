#include "server/shared_mounts.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

// What stands at `root` on the node: the mount and the place on it; "": no network mount.
std::string IdentityOf(const KnownNode& node, absl::string_view root) {
  std::string best;
  std::string identity;
  for (const auto& [point, mount] : node.mounts) {
    absl::string_view below = root;
    if (point != "/" && (!absl::ConsumePrefix(&below, point) || (!below.empty() && below[0] != '/'))) continue;
    if (identity.empty() || point.size() > best.size()) {
      best = point;
      identity = absl::StrCat(mount, " ", below);
    }
  }
  return identity;
}

// Indices of the run's tasks.
using Group = std::vector<int>;

void ShareOf(const v1::AuditRun& run, const Group& group, const std::map<std::string, const KnownNode*>& nodes,
             std::vector<std::string>& shared) {
  const v1::NodeTask& first = run.tasks(group[0]);
  const v1::AuditSide& side = first.migrated() ? run.definition().migrated() : run.definition().baseline();
  for (const v1::DatasetSource& source : side.plans(first.plan()).datasets()) {
    if (source.root().empty() || source.part()) continue;
    const std::string identity = IdentityOf(*nodes.at(first.node()), source.root());
    const bool all = !identity.empty() && std::all_of(group.begin(), group.end(), [&](int at) {
      return IdentityOf(*nodes.at(run.tasks(at).node()), source.root()) == identity;
    });
    if (all) shared.push_back(source.name());
  }
}

}  // namespace

void ShareMounts(const std::vector<KnownNode>& nodes, std::uint64_t seed, v1::AuditRun& run) {
  std::map<std::string, const KnownNode*> online;
  for (const KnownNode& node : nodes) {
    if (node.online && !node.revoked) online[node.name] = &node;
  }
  std::map<std::pair<bool, int>, Group> groups;
  for (int i = 0; i < run.tasks_size(); ++i) {
    const v1::NodeTask& task = run.tasks(i);
    if (online.count(task.node()) > 0) groups[{task.migrated(), task.plan()}].push_back(i);
  }
  for (const auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    std::vector<std::string> shared;
    ShareOf(run, group, online, shared);
    if (shared.empty()) continue;
    for (std::size_t i = 0; i < group.size(); ++i) {
      v1::NodeTask& task = *run.mutable_tasks(group[i]);
      task.set_share_index(static_cast<std::uint32_t>(i));
      task.set_share_count(static_cast<std::uint32_t>(group.size()));
      task.set_share_seed(seed);
      for (const std::string& name : shared) task.add_shared_datasets(name);
    }
  }
}

void ApplyShares(const v1::NodeTask& task, v1::Plan& plan) {
  if (task.share_count() < 2) return;
  for (v1::DatasetSource& source : *plan.mutable_datasets()) {
    const auto& shared = task.shared_datasets();
    if (source.root().empty() || std::find(shared.begin(), shared.end(), source.name()) == shared.end()) continue;
    source.set_part(true);
    source.set_share_index(task.share_index());
    source.set_share_count(task.share_count());
    source.set_share_seed(task.share_seed());
  }
}

}  // namespace paritect
