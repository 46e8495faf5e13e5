// A diagnosis on a terminal: the tree of stages and steps, what each found or lacks, and what to do next.
#ifndef PARITECT_CLIENT_DIAGNOSE_VIEW_H_
#define PARITECT_CLIENT_DIAGNOSE_VIEW_H_

#include <ostream>
#include <string>
#include <vector>

#include "checks/diagnosis.h"
#include "client/report/renderer.h"
#include "rules/rules.h"

namespace paritect {

// `failed_elsewhere`: of FailedElsewhere().
void PrintDiagnosis(const Diagnosis& diagnosis, const std::vector<std::string>& failed_elsewhere, const Rules& rules,
                    const RenderOptions& options, std::ostream& out);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIAGNOSE_VIEW_H_
