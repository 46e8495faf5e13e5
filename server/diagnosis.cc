#include "server/diagnosis.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/audits/stored_runs.h"
#include "storage/sqlite.h"

namespace paritect {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::size_t kNamesMax = 5;
constexpr std::int64_t kClockOffsetToleratedMs = 2000;  // as cluster.coverage.nodes

void Add(v1::DiagnosisResponse& response, absl::string_view id, bool ok, absl::string_view message,
         absl::string_view remedy, absl::string_view otherwise = "error") {
  v1::DiagnosisLine& line = *response.add_lines();
  line.set_id(std::string(id));
  line.set_state(std::string(ok ? "ok" : otherwise));
  line.set_message(std::string(message));
  if (!ok) line.set_remedy(std::string(remedy));
}

std::string Names(std::vector<std::string> names) {
  const std::size_t all = names.size();
  if (all > kNamesMax) names.resize(kNamesMax);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      all > kNamesMax ? absl::StrCat(" and ", all - kNamesMax, " more") : "");
}

void AddDisk(const DiagnosisInput& input, v1::DiagnosisResponse& response) {
  Add(response, "writing", input.writing.ok(),
      input.writing.ok() ? "what nodes and people send is stored" : std::string(input.writing.message()),
      "nothing is acknowledged meanwhile, and nothing lost; give the disk of the server's folder space: \"A full "
      "disk\" in "
      "docs/operations.md");
  if (!input.free_bytes.ok()) return;
  Add(response, "disk", *input.free_bytes >= kFreeBytesWanted,
      absl::StrCat(*input.free_bytes >> 20, " MiB are free on the disk of the server's folder"),
      "give it space: \"A full disk\" in docs/operations.md", "warning");
}

// Whether the newest run of the audit began before a node that it asked lost records. Recorded runs are not asked for
// again, whatever they lack.
bool RestsOnLosses(FleetStore& store, const std::string& audit, const std::vector<KnownNode>& nodes) {
  const auto run = ReadStoredRun(store, audit, 0);
  if (!run.ok()) return false;
  return std::any_of(nodes.begin(), nodes.end(), [&](const KnownNode& node) {
    const auto before = run->lost_before().find(node.name);
    const std::int64_t known = before == run->lost_before().end() ? 0 : before->second;
    return node.lost_records > known && std::any_of(run->tasks().begin(), run->tasks().end(),
                                                    [&](const auto& task) { return task.node() == node.name; });
  });
}

void AddLosses(FleetStore& store, const DiagnosisInput& input, v1::DiagnosisResponse& response) {
  std::int64_t lost = 0;
  std::vector<std::string> lossy;
  for (const KnownNode& node : input.nodes) {
    lost += node.lost_records;
    if (node.lost_records > 0) lossy.push_back(node.name);
  }
  if (lossy.empty()) return Add(response, "lost_records", true, "no node lost records", "");
  std::vector<std::string> audits;
  for (const v1::AuditDefinition& audit : input.audits) {
    if (RestsOnLosses(store, audit.name(), input.nodes)) audits.push_back(audit.name());
  }
  const std::string who = absl::StrCat(lost, " records were lost, by ", Names(lossy));
  if (audits.empty())
    return Add(response, "lost_records", true, absl::StrCat(who, "; no audit's newest run rests on them"), "");
  Add(response, "lost_records", false, absl::StrCat(who, ", since the newest run began of: ", Names(audits)),
      "run these audits again (`paritect audit run`)", "warning");
}

void AddNodes(const DiagnosisInput& input, v1::DiagnosisResponse& response) {
  const std::vector<KnownNode>& nodes = input.nodes;
  const auto online = std::count_if(nodes.begin(), nodes.end(), [](const KnownNode& node) { return node.online; });
  const auto awaited = std::count_if(nodes.begin(), nodes.end(), [&input](const KnownNode& node) {
    const bool known = !node.online && node.last_seen_unix_ms > 0;
    return known && input.now_unix_ms - std::max(node.last_seen_unix_ms, input.start_unix_ms) < kComesBackMs;
  });
  Add(response, "nodes", online + awaited == static_cast<std::ptrdiff_t>(nodes.size()),
      absl::StrCat(online, " of ", nodes.size(), " enrolled nodes are connected",
                   awaited > 0 ? absl::StrCat("; ", awaited, " expected back within a minute or two") : ""),
      "`paritect node ls` names the silent ones; start paritect-agent there, or revoke them", "warning");
  const auto contested =
      std::count_if(nodes.begin(), nodes.end(), [](const KnownNode& node) { return node.contested_unix_ms > 0; });
  Add(response, "identities", contested == 0,
      contested == 0
          ? "no two agents use one identity"
          : absl::StrCat(contested, " identities are used by two agents each, which take each other's place"),
      "`paritect node ls -o wide` names them with both addresses; revoke a stolen one, join a copied machine anew");
  std::vector<std::string> off;
  for (const KnownNode& node : nodes) {
    const bool wrong = node.clock_offset_ms && std::abs(*node.clock_offset_ms) >= kClockOffsetToleratedMs;
    if (node.online && wrong) off.push_back(node.name);
  }
  Add(response, "node_clocks", off.empty(),
      off.empty() ? "no connected node's clock is off by two seconds or more"
                  : absl::StrCat("clocks that are off by two seconds or more: ", Names(off)),
      "`paritect node ls` shows by how much; set them, and let NTP keep them", "warning");
}

}  // namespace

v1::DiagnosisResponse Diagnosis(FleetStore& store, DiagnosisInput input) {
  std::erase_if(input.nodes, [](const KnownNode& node) { return node.revoked; });
  v1::DiagnosisResponse response;
  response.set_program(input.program);
  response.set_server_unix_ms(input.now_unix_ms);
  const auto stats = store.Stats();
  Add(response, "store", stats.ok(),
      stats.ok() ? absl::StrCat("database ", stats->file_bytes, " bytes and ", stats->wal_bytes, " in its log, ",
                                stats->contents, " contents, ", stats->batches, " batches, ", stats->log_entries,
                                " log entries")
                 : std::string(stats.status().message()),
      "see the server's journal; restore from a backup");
  AddDisk(input, response);
  const std::int64_t left = input.certificate_expires_unix - input.now_unix_ms / 1000;
  Add(response, "server_certificate", left > 14 * kDaySeconds, absl::StrCat("expires in ", left / kDaySeconds, " days"),
      "restart the server: it renews its own certificate; one of another authority must be replaced");
  AddNodes(input, response);
  AddLosses(store, input, response);
  if (stats.ok()) *response.mutable_log_head() = stats->log_head;
  if (const std::string old = OldSqlite(); !old.empty()) {
    Add(response, "sqlite", true, old, "");  // a distribution without a newer one leaves nothing to mend
  }
  for (std::size_t i = 0; stats.ok() && i < stats->problems.size(); ++i) {
    Add(response, "lost_data", false, stats->problems[i], "see \"Lost data\" in docs/operations.md");
  }
  return response;
}

void AddIntegrity(const absl::StatusOr<std::vector<std::string>>& faults, v1::DiagnosisResponse& response) {
  Add(response, "integrity", faults.ok() && faults->empty(),
      !faults.ok()      ? std::string(faults.status().message())
      : faults->empty() ? "pages, digests and the log's chain are whole"
                        : (*faults)[0],
      "stop the server, run `paritect-server verify`, restore from a backup");
}

}  // namespace paritect
