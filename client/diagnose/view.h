// A diagnosis on a terminal: the causes in order of work, then the tree of stages and steps, what each found or lacks,
// and where to go on.
#ifndef PARITECT_CLIENT_DIAGNOSE_VIEW_H_
#define PARITECT_CLIENT_DIAGNOSE_VIEW_H_

#include <ostream>

#include "checks/explaining/diagnosis.h"
#include "client/report/renderer.h"
#include "rules/rules.h"

namespace paritect {

// `report`: the one that was diagnosed.
void PrintDiagnosis(const Diagnosis& diagnosis, const v1::Report& report, const Rules& rules,
                    const RenderOptions& options, std::ostream& out);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIAGNOSE_VIEW_H_
