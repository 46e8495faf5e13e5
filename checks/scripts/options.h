// Options that scripts leave to their configuration, put together with what the run's own configuration states: the
// code says where a value goes, the file which it is.
#ifndef PARITECT_CHECKS_SCRIPTS_OPTIONS_H_
#define PARITECT_CHECKS_SCRIPTS_OPTIONS_H_

#include <memory>

#include "checks/evidence_set.h"
#include "paritect/v1/script.pb.h"
#include "rules/script_rules.h"

namespace paritect {

// The tree with values in the place of its options, as far as the run's files state one value of each; nullptr where
// they state none. Only where the command line is known: it may set any of them.
std::shared_ptr<const v1::ScriptTree> WithStatedOptions(const v1::ScriptTree& tree, const RunView& run,
                                                        const ScriptRules& rules);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_OPTIONS_H_
