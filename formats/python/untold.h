// Statements that do more than facts tell: arithmetic on tensors, functions that no rule names, a round that is left.
// What they do is not known; that two sides do the same is known where the statements are the same, word for word, with
// the same constants behind their names.
#ifndef PARITECT_FORMATS_PYTHON_UNTOLD_H_
#define PARITECT_FORMATS_PYTHON_UNTOLD_H_

#include "formats/python/machine.h"

namespace paritect {

// Notes the statement as code, unless it only shows something. `mark`: what changed before it began.
void NoteUntold(ScriptMachine& machine, NodeId statement, std::size_t mark);

// A call of something that the source does not hold. `symbol`: how it is reached; `handed`: what it is given.
void NoteStranger(ScriptMachine& machine, absl::string_view symbol, const std::vector<CallArgument>& handed);

// Whether a block does nothing but show something, or end with an error.
bool NameShows(absl::string_view name);
// A statement that is such a call, or does nothing.
bool StatementShows(const SyntaxTree& tree, NodeId statement);
bool OnlyShows(const SyntaxTree& tree, NodeId block);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_UNTOLD_H_
