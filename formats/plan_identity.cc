#include "formats/plan_identity.h"

#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {

std::string PlanKey(const std::vector<std::string>& parts) {
  std::string named;
  for (const std::string& part : parts) absl::StrAppend(&named, part.size(), ":", part);
  return Sha256(named);
}

}  // namespace paritect
