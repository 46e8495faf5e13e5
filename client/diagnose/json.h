// A diagnosis as JSON, schema paritect.diagnosis/1.
#ifndef PARITECT_CLIENT_DIAGNOSE_JSON_H_
#define PARITECT_CLIENT_DIAGNOSE_JSON_H_

#include "checks/explaining/diagnosis.h"
#include "client/report/json.h"
#include "rules/rules.h"

namespace paritect {

// `report`: the one that was diagnosed.
OrderedJson DiagnosisToJson(const Diagnosis& diagnosis, const v1::Report& report, const Rules& rules);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIAGNOSE_JSON_H_
