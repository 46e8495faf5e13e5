#include "checks/weights/start.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/weights/pair_report.h"

namespace paritect {
namespace {

const RunCheckpoints* Find(const std::vector<RunCheckpoints>& runs, const std::string& name) {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const RunCheckpoints& one) { return one.run.name == name; });
  return found == runs.end() ? nullptr : &*found;
}

std::vector<const Checkpoint*> StartsOf(const RunCheckpoints& run, bool pretrained) {
  std::vector<const Checkpoint*> found;
  for (const Checkpoint& one : run.all) {
    if (one.pretrained() == pretrained && (pretrained || one.step == 0)) found.push_back(&one);
  }
  return found;
}

}  // namespace

StartRelation RelateStarts(const CheckContext& context, const std::string& baseline_run,
                           const std::string& migrated_run) {
  StartRelation relation;
  const RunCheckpoints* baseline = Find(CheckpointsOf(context, Side::kBaseline), baseline_run);
  const RunCheckpoints* migrated = Find(CheckpointsOf(context, Side::kMigrated), migrated_run);
  if (baseline == nullptr || migrated == nullptr) return relation;
  for (const bool pretrained : {false, true}) {
    const std::vector<const Checkpoint*> x = StartsOf(*baseline, pretrained), y = StartsOf(*migrated, pretrained);
    if (x.empty() || y.empty()) continue;
    const ModelState a = StateOf(context, x), b = StateOf(context, y);
    const PairedStates states(context, a, b);
    if (states.match().pairs.empty()) return relation;
    relation.evidence =
        absl::StrCat("initial weights (", x.front()->sources.front(), "; ", y.front()->sources.front(), ")");
    bool complete = !a.incomplete && !b.incomplete && states.Unmatched(Side::kBaseline).empty() &&
                    states.Unmatched(Side::kMigrated).empty();
    for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
      const Sameness sameness = states.sameness(i);
      if (IsSame(sameness)) continue;
      complete = false;
      if (sameness != Sameness::kDiffers && !IsMisplaced(sameness)) continue;
      relation.kind = StartRelation::Kind::kDiffers;
      relation.tensor = NamesOf(states.match().pairs[i].a);
      return relation;
    }
    if (complete) relation.kind = StartRelation::Kind::kSame;
    return relation;
  }
  return relation;
}

}  // namespace paritect
