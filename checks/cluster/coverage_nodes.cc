// cluster.coverage.nodes: did every node report? Without a server only the plans given are known, so the
// answer is yes only where all ranks of a run reported: then no node can be lacking.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/coverage.h"
#include "checks/settings/world_size.h"

namespace paritect {
namespace {

// Network time keeps clocks within milliseconds; two seconds are visible in logs.
constexpr std::int64_t kClockOffsetToleratedMs = 2000;

void EvaluateRun(const CheckContext& context, Side side, const RunView& run, v1::CheckResult& result) {
  const WorldSizes sizes = WorldSizesOf(context, side, run);
  if (sizes.conflict() || !CoverRanks(run, sizes.largest()).complete()) {
    AddMissing(context, result, "nodes_expected_unknown", run.name,
               {{"run", run.name}, {"nodes", absl::StrCat(run.nodes.size())}});
    return;
  }
  v1::Finding& note = AddNote(context, result, "measured/nodes", run.name,
                              {{"run", run.name}, {"nodes", absl::StrCat(run.nodes.size())}});
  SetFact(note, "nodes", static_cast<std::int64_t>(run.nodes.size()));
}

void EvaluateSide(const CheckContext& context, Side side, v1::CheckResult& result) {
  const std::vector<RunView> runs = context.evidence.Runs(side);
  if (runs.empty()) AddMissing(context, result, "coverage_no_run", SideName(side));
  for (const RunView& run : runs) EvaluateRun(context, side, run, result);
}

// A recorded run is known by what was recorded of it, as one from plans or bundles is.
void EvaluateRecorded(const CheckContext& context, const FleetFacts::Recorded& recorded, v1::CheckResult& result) {
  for (const RunView& run : context.evidence.Runs(recorded.side)) {
    if (run.name == recorded.run) EvaluateRun(context, recorded.side, run, result);
  }
  if (recorded.replaced > 0) {
    v1::Finding& note = AddNote(context, result, "measured/collected_again", recorded.run,
                                {{"run", recorded.run}, {"bundles", absl::StrCat(recorded.replaced)}});
    SetFact(note, "bundles", recorded.replaced);
  }
  for (const std::string& node : recorded.left_out) {
    const MessageArgs args = {{"run", recorded.run}, {"node", node}};
    if (recorded.nodes_named) {
      AddNote(context, result, "measured/node_left_out", node, args);
    } else {
      AddMissing(context, result, "node_of_no_run", node, args);
    }
  }
}

// With a server: every node that the audit names, by what it delivered; recorded runs by what is there. Skewed clocks
// do not disturb an audit (nothing is ordered by them) but mislead whoever reads times in logs.
void EvaluateFleet(const CheckContext& context, const FleetFacts& fleet, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    int reported = 0;
    int expected = 0;
    for (const FleetFacts::Node& node : fleet.nodes) {
      if (node.side != side) continue;
      ++expected;
      reported += node.reported ? 1 : 0;
      if (!node.reported) {
        const char* id = node.revoked             ? "node_silent/revoked"
                         : node.unfinished        ? "node_unfinished"
                         : node.last_seen.empty() ? "node_silent/never"
                                                  : "node_silent";
        const std::string last_seen = node.last_seen.empty() ? "-" : node.last_seen;
        AddMissing(context, result, id, node.name, {{"node", node.name}, {"last_seen", last_seen}});
      }
      if (node.contested) AddError(context, result, "identity_contested", node.name, {{"node", node.name}});
      if (!node.clock_offset_ms || std::abs(*node.clock_offset_ms) < kClockOffsetToleratedMs) continue;
      v1::Finding& warning = AddWarning(context, result, "clock_offset", node.name,
                                        {{"node", node.name}, {"offset_ms", absl::StrCat(*node.clock_offset_ms)}});
      SetFact(warning, "offset_ms", *node.clock_offset_ms);
    }
    if (expected == 0 && context.evidence.Runs(side).empty()) {
      AddMissing(context, result, "coverage_no_run", SideName(side));
    }
    for (const FleetFacts::Recorded& recorded : fleet.recorded) {
      if (recorded.side == side) EvaluateRecorded(context, recorded, result);
    }
    if (expected == 0 || reported < expected) continue;
    v1::Finding& note = AddNote(context, result, "measured/fleet_nodes", SideName(side),
                                {{"side", std::string(SideName(side))}, {"nodes", absl::StrCat(reported)}});
    SetFact(note, "nodes", reported);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  if (context.evidence.fleet() != nullptr) return EvaluateFleet(context, *context.evidence.fleet(), result);
  for (Side side : kBothSides) EvaluateSide(context, side, result);
}

}  // namespace

extern const Check kCoverageNodes;
const Check kCoverageNodes = {"cluster.coverage.nodes", {}, &Evaluate};

}  // namespace paritect
