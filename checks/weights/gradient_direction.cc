// first-step.gradients.direction: is the share of equal signs of the gradients high?
// Source: MindSpore precision checklist, check 2; msprobe's grad probe took 0.97 as the limit of step 0.
#include "absl/strings/str_cat.h"
#include "checks/weights/gradients.h"
#include "common/numbers.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const double limit = context.profile.threshold("gradient_signs");
  bool any = false;
  for (const ParameterGradients& gradients : PairGradients(context)) {
    Direction all;
    for (const GradientPair& pair : gradients.pairs) {
      if (pair.vectors.has_value()) all.Add(*pair.vectors);
    }
    if (all.signs.places == 0) continue;
    any = true;
    const bool turned = all.signs.share() > limit;
    v1::Finding& finding =
        AddFinding(context, result, turned ? v1::SEVERITY_ERROR : v1::SEVERITY_NOTE,
                   turned ? "gradient_direction_differs" : "measured/gradient_direction", gradients.run,
                   {{"share", FormatShort(100 * all.signs.share(), 3)},
                    {"limit", FormatShort(100 * limit, 3)},
                    {"cosine", FormatShort(all.cosine(), 4)}});
    SetFact(finding, "signs_differ", all.signs.share());
    SetFact(finding, "cosine", all.cosine());
    for (const std::string& source : gradients.evidence) finding.add_evidence(source);
  }
  if (!any) AddMissing(context, result, "gradients_not_recorded", "");
}

}  // namespace

extern const Check kGradientDirection;
const Check kGradientDirection = {"first-step.gradients.direction", {}, &Evaluate};

}  // namespace paritect
