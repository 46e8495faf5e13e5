// cluster.coverage.records: did every record that an agent accepted reach the server? An agent that lost some (a full
// disk,
// a damaged spool) says how many: a declared gap, never silence.
#include "absl/strings/str_cat.h"
#include "checks/check.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const FleetFacts* fleet = context.evidence.fleet();
  if (fleet == nullptr || fleet->nodes.empty()) {
    AddNote(context, result, "not_applicable/no_agents", "");
    return;
  }
  bool lost = false;
  for (const FleetFacts::Node& node : fleet->nodes) {
    if (node.lost_records == 0) continue;
    lost = true;
    v1::Finding& error = AddError(context, result, "records_lost", node.name,
                                  {{"node", node.name}, {"records", absl::StrCat(node.lost_records)}});
    SetFact(error, "records", node.lost_records);
    error.add_nodes(node.name);
  }
  if (!lost) AddNote(context, result, "measured/no_records_lost", "", {{"nodes", absl::StrCat(fleet->nodes.size())}});
}

}  // namespace

extern const Check kCoverageRecords;
const Check kCoverageRecords = {"cluster.coverage.records", {}, &Evaluate};

}  // namespace paritect
