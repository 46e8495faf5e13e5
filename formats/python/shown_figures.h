// Statements whose results are only shown or kept: meters, best losses, timers, names of a device. No fact tells them
// whole, and they change nothing of what is trained.
//
// Decided by names over the files that a run reaches, on the side of caution: a name counts as read wherever it stands
// in a statement that is not itself of this kind, an attribute wherever one of its name is read. What a statement may
// call is listed (`figures`, `views` and `meters` of rules/data/script_words.yaml); what is changed in place has to be
// a number of the script's own making and no other name of a tensor.
#ifndef PARITECT_FORMATS_PYTHON_SHOWN_FIGURES_H_
#define PARITECT_FORMATS_PYTHON_SHOWN_FIGURES_H_

#include <set>
#include <utility>
#include <vector>

#include "formats/python/machine.h"

namespace paritect {

// By module and node, of the modules that were reached.
std::set<std::pair<int, NodeId>> ShownFigures(const std::vector<ScriptModule>& modules);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_SHOWN_FIGURES_H_
