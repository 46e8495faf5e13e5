#include "checks/weights/finite.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "checks/finding_budget.h"

namespace paritect {

void ReportNotFinite(const CheckContext& context, v1::CheckResult& result, const ModelState& state) {
  FindingBudget budget(context, result);
  for (const ModelTensor& tensor : state.tensors) {
    std::uint64_t nan = 0, infinite = 0;
    for (const v1::TensorFingerprint* part : tensor.parts) {
      nan += part->statistics().nan();
      infinite += part->statistics().positive_infinity() + part->statistics().negative_infinity();
    }
    if (tensor.role == v1::TENSOR_ROLE_BUFFER) infinite = 0;
    if (nan + infinite == 0) continue;
    v1::Finding* finding = budget.Add(v1::SEVERITY_ERROR, "weights_not_finite", tensor.name,
                                      {{"where", state.where},
                                       {"nan", absl::StrCat(nan)},
                                       {"infinite", absl::StrCat(infinite)},
                                       {"elements", absl::StrCat(tensor.elements())}});
    if (finding == nullptr) continue;
    SetFact(*finding, "nan", nan);
    SetFact(*finding, "infinite", infinite);
    for (const std::string& source : state.sources) finding->add_evidence(source);
  }
  budget.Finish();
}

}  // namespace paritect
