// Which product a run trained on: from the plan, npu-smi or nvidia-smi output, soc_version, PCI ids. Never
// guessed: an unknown or contradicting name gives no product, and what needs it is not performed.
// Source: pre-tuning checklist, 在NPU上正确使能混合精度 (the precision mode depends on the product).
#ifndef PARITECT_CHECKS_SETTINGS_PLATFORM_H_
#define PARITECT_CHECKS_SETTINGS_PLATFORM_H_

#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"
#include "rules/rules.h"

namespace paritect {

struct Platform {
  const ProductFamily* family = nullptr;  // nullptr: not known
  std::string evidence;                   // "plan.yaml", "npu-smi.txt:7: 910B3"
  // Why there is none: names that were seen and are not in the table, or that disagree.
  std::vector<std::string> unknown_names;
  std::vector<std::string> conflicts;
};

Platform PlatformOf(const Rules& rules, const RunView& run);

// Whether the migrated run is on a training NPU that is known. Else says why not: no device evidence at all, chips that
// the table does not have, two products on one side, or another kind of product.
bool RequireTrainingNpu(const CheckContext& context, v1::CheckResult& result, const RunView& run,
                        const Platform& platform);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_PLATFORM_H_
