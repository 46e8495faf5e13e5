// What facts of scripts mean, in one place for the faults and the settings that are read off them.
#ifndef PARITECT_CHECKS_SCRIPTS_WORDS_H_
#define PARITECT_CHECKS_SCRIPTS_WORDS_H_

#include <optional>
#include <string>

#include "checks/scripts/flow.h"

namespace paritect {

// "float16", "bfloat16", "float32" or "" of an argument that names a type.
std::string DtypeOf(const v1::ScriptArgument& argument);
// The type in which an autocast computes; "" where the source does not tell.
std::string AutocastDtype(const v1::ScriptFact& fact);
// Whether a switch is known to be off, or on.
bool IsFalse(const v1::ScriptArgument* argument);
bool IsTrue(const v1::ScriptArgument* argument);
// A cast of a network that is trained to a short type: its dtype; "" for every other cast.
std::string TrainedCast(const ScriptFlow& flow, const v1::ScriptFact& fact);
// A step of the training: a backward, a framework's whole step.
bool IsUpdate(const v1::ScriptFact& fact);
// Whether loop `number` is around the fact.
bool InLoop(const v1::ScriptFact& fact, int number);
// Both sides' scripts were read, and are of one framework.
bool OfOneFramework(const ScriptFlow& baseline, const ScriptFlow& migrated);
// A port names its device: `.npu()` is `.cuda()`, "hccl" is "nccl".
std::string WithoutDevice(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_WORDS_H_
