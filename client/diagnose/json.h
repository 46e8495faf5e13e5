// A diagnosis as JSON, schema paritect.diagnosis/1.
#ifndef PARITECT_CLIENT_DIAGNOSE_JSON_H_
#define PARITECT_CLIENT_DIAGNOSE_JSON_H_

#include <string>
#include <vector>

#include "checks/diagnosis.h"
#include "client/report/json.h"
#include "rules/rules.h"

namespace paritect {

// `failed_elsewhere`: of FailedElsewhere().
OrderedJson DiagnosisToJson(const Diagnosis& diagnosis, const std::vector<std::string>& failed_elsewhere,
                            const Rules& rules);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIAGNOSE_JSON_H_
