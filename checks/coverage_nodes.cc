// cluster.coverage.nodes: did every node report? Without a server only the plans given are known, so the
// answer is yes only where all ranks of a run reported: then no node can be lacking.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/rank_coverage.h"

namespace paritect {
namespace {

void EvaluateSide(const CheckContext& context, Side side, v1::CheckResult& result) {
  const std::vector<RunView> runs = context.evidence.Runs(side);
  if (runs.empty()) AddMissing(context, result, "coverage_no_run", SideName(side));
  for (const RunView& run : runs) {
    if (!CoverRanks(run).complete()) {
      AddMissing(context, result, "nodes_expected_unknown", run.name,
                 {{"run", run.name}, {"nodes", absl::StrCat(run.nodes.size())}});
      continue;
    }
    v1::Finding& note = AddNote(context, result, "measured/nodes", run.name,
                                {{"run", run.name}, {"nodes", absl::StrCat(run.nodes.size())}});
    SetFact(note, "nodes", static_cast<std::int64_t>(run.nodes.size()));
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) EvaluateSide(context, side, result);
}

}  // namespace

extern const Check kCoverageNodes;
const Check kCoverageNodes = {"cluster.coverage.nodes", {}, &Evaluate};

}  // namespace paritect
