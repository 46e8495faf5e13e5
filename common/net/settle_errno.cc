#include "common/net/settle_errno.h"

#include "absl/base/internal/sysinfo.h"

namespace paritect {

void SettleErrno() {
  absl::base_internal::NumCPUs();
  absl::base_internal::NominalCPUFrequency();
}

}  // namespace paritect
