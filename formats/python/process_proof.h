// Whether a script can be known to be one process: no import, no call and no name in it, or in any file of the project
// that it imports, starts, joins or asks for others.
//
// Told by the text alone and for all of it, also for what no run may reach: every import must be of a module that
// rules/data/one_process.yaml lists or of a file that was read whole, every name of a listed module one that it
// permits, and nothing may reach a name by a text that is made while it runs (exec, getattr with a computed name,
// __globals__). Modules may not be handed on, so that each use of one is seen where it stands. Whatever is not
// understood is a reason against: a script may be one process and not be known for it, never the other way round.
#ifndef PARITECT_FORMATS_PYTHON_PROCESS_PROOF_H_
#define PARITECT_FORMATS_PYTHON_PROCESS_PROOF_H_

#include <string>
#include <vector>

#include "formats/python/machine.h"
#include "paritect/v1/common.pb.h"
#include "rules/one_process.h"

namespace paritect {

inline constexpr char kOneProcessNote[] = "one_process";          // "corpus.py, train.py | argparse, glob, json, torch"
inline constexpr char kOtherProcessesNote[] = "other_processes";  // "train.py:12: import horovod", the first of them

// `modules` sorted by path, `entry` the one that the launch starts. `unread`: places of the tree where a module may
// stand whose text was not read (compiled modules, folders that were not entered), without extension, sorted.
v1::Note ProveOneProcess(const std::vector<ScriptModule>& modules, int entry, const std::vector<std::string>& unread,
                         const OneProcessRules& rules);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_PROCESS_PROOF_H_
