// cluster.consistency.devices and .host: the nodes of a run have devices of one kind and number; memory and CPU count
// are notes. One node is no cluster (checks/cluster/consistency.h has variables and versions).
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/cluster/consistency.h"
#include "checks/settings/compare.h"

namespace paritect {
namespace {

using absl::StrCat;
using Said = std::map<std::string, std::string>;  // node -> what it has

std::string DevicesIn(const v1::SettingsDocument& document) {
  std::map<std::string, int> names;
  for (const v1::Setting& setting : document.settings()) {
    if (setting.raw_key() == "npu.name" || setting.raw_key() == "gpu.name") ++names[setting.raw_value()];
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : names) parts.push_back(StrCat(count, " x ", name));
  return absl::StrJoin(parts, " + ");
}

std::string HostIn(const v1::SettingsDocument& document) {
  std::vector<std::string> parts;
  for (const char* key : {"host.cpu_count", "host.memory_bytes", "host.cpu_model"}) {
    for (const v1::Setting& setting : document.settings()) {
      if (setting.raw_key() != key) continue;
      parts.push_back(StrCat(key + 5, " ", setting.raw_value()));
      break;
    }
  }
  return absl::StrJoin(parts, ", ");
}

// What each node of the run has, by `tell`; nodes without an answer are left out.
Said Ask(const RunView& run, absl::string_view kind, std::string (*tell)(const v1::SettingsDocument&)) {
  Said said;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (!evidence.has_settings() || evidence.settings().kind() != kind) continue;
      const std::string one = tell(evidence.settings());
      if (!one.empty()) said.try_emplace(bundle->plan().node(), one);
    }
  }
  return said;
}

void Report(const CheckContext& context, v1::CheckResult& result, Side side, v1::Severity severity,
            absl::string_view message, const RunView& run, const Said& said) {
  std::set<std::string> kinds;
  std::vector<std::string> told;
  for (const auto& [node, what] : said) {
    kinds.insert(what);
    told.push_back(StrCat(node, ": ", what));
  }
  const std::string all = absl::StrJoin(told, "; ");
  if (kinds.size() == 1) {
    AddNote(context, result, "measured/same_nodes", run.name, {{"what", *kinds.begin()}});
  } else if (kinds.size() > 1) {
    v1::Finding& finding = AddFinding(context, result, severity, message, run.name, {{"nodes", all}});
    (side == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = all;
  }
}

struct Question {
  absl::string_view kind;
  std::string (*tell)(const v1::SettingsDocument&);
  v1::Severity severity;
  absl::string_view differs;
  absl::string_view unknown;
};

void Judge(const CheckContext& context, v1::CheckResult& result, const Question& question) {
  bool any = false;
  for (Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) {
      any = true;
      if (SingleNode(context, result, side, run, true)) continue;
      std::set<std::string> nodes;
      for (const v1::Bundle* bundle : run.nodes) nodes.insert(bundle->plan().node());
      const Said said = Ask(run, question.kind, question.tell);
      for (const std::string& node : nodes) {
        if (!said.contains(node)) AddMissing(context, result, question.unknown, node, {{"node", node}});
      }
      Report(context, result, side, question.severity, question.differs, run, said);
    }
  }
  if (!any) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
}

void Devices(const CheckContext& context, v1::CheckResult& result) {
  Judge(context, result, {"devices", &DevicesIn, v1::SEVERITY_ERROR, "devices_differ", "devices_unknown"});
}

void Host(const CheckContext& context, v1::CheckResult& result) {
  Judge(context, result, {"host", &HostIn, v1::SEVERITY_NOTE, "hosts_differ", "host_unknown"});
}

}  // namespace

extern const Check kConsistencyDevices;
const Check kConsistencyDevices = {"cluster.consistency.devices", {}, &Devices};
extern const Check kConsistencyHost;
const Check kConsistencyHost = {"cluster.consistency.host", {}, &Host};

}  // namespace paritect
