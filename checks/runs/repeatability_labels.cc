// baseline.repeatability.labels: are the labels of custom data right? No machine can tell.
// Source: pre-tuning checklist, 多次训练验证精度一致 (自定义样本标注).
#include "checks/check.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  AddMissing(context, result, "labels_by_a_person", SideName(Side::kBaseline));
}

}  // namespace

extern const Check kRepeatabilityLabels;
const Check kRepeatabilityLabels = {"baseline.repeatability.labels", {}, &Evaluate};

}  // namespace paritect
