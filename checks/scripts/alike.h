// Whether the code of both sides does the same where no setting has a name for it: functions that it calls with other
// arguments or on one side alone, constants in the loss, the rounds that it trains, when its schedule moves on.
#ifndef PARITECT_CHECKS_SCRIPTS_ALIKE_H_
#define PARITECT_CHECKS_SCRIPTS_ALIKE_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/scripts/code_apart.h"
#include "checks/scripts/network.h"
#include "rules/script_words.h"

namespace paritect {

struct FactsComparison {
  std::vector<NetworkDifference> differ;  // both sides' values are known
  std::vector<CodeApart> open;            // whether they are alike is not known
  std::vector<NetworkDifference> seeds;   // as `differ`; runs of one side may differ in them on purpose
};

// The facts that rules/data/script_words.yaml compares for a check; between frameworks those that have a meaning in
// both.
FactsComparison CompareFacts(absl::string_view check, const ScriptFlow& baseline, const ScriptFlow& migrated);
// Those of one kind.
FactsComparison CompareFacts(const ComparedFacts& which, const ScriptFlow& baseline, const ScriptFlow& migrated);

// Constants that the loss is made with beside the losses' own arguments: `0.4 * auxiliary`.
FactsComparison CompareLossConstants(const ScriptFlow& baseline, const ScriptFlow& migrated);
// Constants that samples pass on their way from the loader into the network.
std::optional<CodeApart> CompareInputConstants(const ScriptFlow& baseline, const ScriptFlow& migrated);
// What of a round of the training runs in an autocast.
std::optional<CodeApart> CompareAutocast(const ScriptFlow& baseline, const ScriptFlow& migrated);
// What the loops around that of the samples run over: epochs.
FactsComparison CompareRounds(const ScriptFlow& baseline, const ScriptFlow& migrated);
// Whether a schedule moves on with each update or once in a while.
FactsComparison CompareScheduleSteps(const ScriptFlow& baseline, const ScriptFlow& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_ALIKE_H_
