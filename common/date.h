// Calendar days as people write them in answers and plans: "2026-12-31".
#ifndef PARITECT_COMMON_DATE_H_
#define PARITECT_COMMON_DATE_H_

#include "absl/strings/string_view.h"

namespace paritect {

// A day that exists, as YYYY-MM-DD and nothing else. Such texts are in the order of their days.
bool IsDate(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_COMMON_DATE_H_
