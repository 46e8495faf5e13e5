// The report as JSON, for the client's formats; the server shares it.
#ifndef PARITECT_CLIENT_REPORT_JSON_H_
#define PARITECT_CLIENT_REPORT_JSON_H_

#include "report/json.h"  // IWYU pragma: export

#endif  // PARITECT_CLIENT_REPORT_JSON_H_
