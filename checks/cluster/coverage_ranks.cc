// cluster.coverage.ranks: did every rank of every run report?
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/coverage.h"
#include "checks/scripts/one_process.h"
#include "checks/settings/world_size.h"

namespace paritect {
namespace {

void EvaluateSide(const CheckContext& context, Side side, v1::CheckResult& result) {
  const std::vector<RunView> runs = context.evidence.Runs(side);
  if (runs.empty()) AddMissing(context, result, "coverage_no_run", SideName(side));
  for (const RunView& run : runs) {
    const WorldSizes sizes = WorldSizesOf(context, side, run);
    if (sizes.conflict()) {
      v1::Finding& finding =
          AddError(context, result, "conflict_within_side", absl::StrCat(SideName(side), ": world_size"),
                   {{"key", "world_size"}, {"values", absl::StrCat(run.name, ": ", sizes.Text())}});
      SetFact(finding, "world_size", sizes.largest());
    }
    const RankCoverage coverage = CoverRanks(run, sizes.largest());
    if (coverage.world_size == 0) {
      const std::string why = WhyNotOneProcess(run);
      AddMissing(context, result, why.empty() ? "world_size_unknown" : "world_size_unknown/script", run.name,
                 {{"run", run.name}, {"why", why}});
      continue;
    }
    const std::vector<int> silent = coverage.Silent();
    if (silent.empty()) {
      v1::Finding& note = AddNote(context, result, "measured/ranks", run.name,
                                  {{"run", run.name}, {"world_size", absl::StrCat(coverage.world_size)}});
      SetFact(note, "world_size", coverage.world_size);
      continue;
    }
    AddMissing(context, result, "ranks_silent", run.name,
               {{"run", run.name}, {"ranks", FormatRanks(silent)}, {"world_size", absl::StrCat(coverage.world_size)}});
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) EvaluateSide(context, side, result);
}

}  // namespace

extern const Check kCoverageRanks;
const Check kCoverageRanks = {"cluster.coverage.ranks", {}, &Evaluate};

}  // namespace paritect
