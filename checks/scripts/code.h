// Statements that the facts of a script do not tell whole, held against those of the other side word for word: a
// network's arithmetic, an average of the weights, how weights are set at first, a round that is left.
#ifndef PARITECT_CHECKS_SCRIPTS_CODE_H_
#define PARITECT_CHECKS_SCRIPTS_CODE_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/scripts/code_apart.h"
#include "checks/scripts/flow.h"
#include "checks/scripts/network.h"

namespace paritect {

// What a check is about.
enum class CodeSubject {
  kTraining,  // all that runs but evaluation
  kNetwork,   // what a network computes, and how it is made
  kRate,      // what names a rate or a schedule
  kSamples,   // what happens to samples between their loader and the network
};

// nullopt where both sides' code is the same, or nothing can be held against: no scripts, another framework.
std::optional<CodeApart> CompareCode(CodeSubject subject, const ScriptFlow& baseline, const ScriptFlow& migrated);

// Whether `less` has a statement that `more` has not, or has less often.
bool HasCodeOfItsOwn(const ScriptFlow& less, const ScriptFlow& more);

// Whether the statements of both sides are the same in the same order, but for constants in them: then nothing that one
// side does in other words makes up for what another constant changes.
bool ApartInConstantsAlone(const ScriptFlow& baseline, const ScriptFlow& migrated);

// Fractions that a network's own code computes with, another on each side, where the code is apart in constants alone.
// (Of a whole number it is not known whether it counts, or names a dimension.)
std::vector<NetworkDifference> NetworkFractions(const ScriptFlow& baseline, const ScriptFlow& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_CODE_H_
