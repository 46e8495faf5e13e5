// What scripts say of settings, in the form of a settings document: the lowest of a run's sources, for the command
// line, the configuration and the log know better what ran.
#ifndef PARITECT_CHECKS_SCRIPTS_SCRIPT_SETTINGS_H_
#define PARITECT_CHECKS_SCRIPTS_SCRIPT_SETTINGS_H_

#include "checks/scripts/flow.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// The name of the document's format.
inline constexpr char kScriptSettings[] = "python";
// The kind of documents that a reader of options found in a script (a session's configuration).
inline constexpr char kScriptOptions[] = "script-options";

// How mixed precision and the loss scale are made, optimizer and seeds. Empty where the scripts say nothing of them.
v1::SettingsDocument SettingsOfScripts(const ScriptFlow& flow);

// The backward of a PyTorch training that computes in float32, its default, for nothing in the code says otherwise: no
// autocast, no cast, nothing that trains by itself, no other type anywhere. nullptr where that is not known.
const v1::ScriptFact* SinglePrecision(const ScriptFlow& flow);

// Whether what trains is told its type by its arguments alone (Transformers): the whole of the code is known, and no
// autocast, no cast and no engine stands in it.
bool AsksByArgumentsAlone(const ScriptFlow& flow);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_SCRIPT_SETTINGS_H_
