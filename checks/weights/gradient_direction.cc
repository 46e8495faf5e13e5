// first-step.gradients.direction: is the share of equal signs of the gradients high?
// Source: MindSpore precision checklist, check 2; msprobe's grad probe took 0.97 as the limit of step 0.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/finding_budget.h"
#include "checks/weights/gradients.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// The whole hides a single tensor that turned: one of fifty is two percent of the signs.
void Tensors(const CheckContext& context, v1::CheckResult& result, const ParameterGradients& gradients) {
  constexpr std::uint64_t kSignsMin = 64;
  const double turned = context.profile.threshold("tensor_signs");
  const double of_mean = context.profile.threshold("gradient_noise");
  double a = 0, b = 0, elements = 0;
  for (const GradientPair& pair : gradients.pairs) {
    if (!pair.vectors.has_value()) continue;
    a += pair.a_l2 * pair.a_l2;
    b += pair.b_l2 * pair.b_l2;
    elements += static_cast<double>(pair.vectors->elements);
  }
  FindingBudget budget(context, result);
  for (const GradientPair& pair : gradients.pairs) {
    if (!pair.vectors.has_value()) continue;
    const SignCount& signs = pair.vectors->signs;
    if (signs.places < kSignsMin || signs.share() <= turned) continue;
    const auto small = [&](double l2, double squares) {
      return l2 * l2 / static_cast<double>(pair.vectors->elements) < of_mean * of_mean * squares / elements;
    };
    const bool noise = small(pair.a_l2, a) || small(pair.b_l2, b);
    v1::Finding* finding =
        budget.Add(noise ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, "gradient_direction_differs/tensor", pair.name,
                   {{"tensor", pair.name},
                    {"differ", absl::StrCat(signs.differ)},
                    {"signs", absl::StrCat(signs.places)},
                    {"cosine", pair.vectors->places == 0 ? "not known" : FormatShort(pair.vectors->cosine(), 3)}});
    if (finding != nullptr) SetFact(*finding, "signs_differ", signs.share());
  }
  budget.Finish();
}

// Whether what has signs or sketches is nearly all of the gradient.
void Coverage(const CheckContext& context, v1::CheckResult& result, const ParameterGradients& gradients) {
  double covered = 0;
  for (const GradientPair& pair : gradients.pairs) covered += pair.vectors.has_value() ? pair.a_l2 * pair.a_l2 : 0;
  if (covered >= context.profile.threshold("gradient_covered") * gradients.a_squares &&
      gradients.only_baseline.empty() && gradients.only_migrated.empty()) {
    return;
  }
  AddMissing(context, result, "gradient_direction_not_covered", gradients.run,
             {{"share", FormatShort(100 * covered / std::max(gradients.a_squares, 1e-300), 3)},
              {"count", absl::StrCat(gradients.only_baseline.size() + gradients.only_migrated.size())}});
}

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
    Coverage(context, result, gradients);
    if (!turned) Tensors(context, result, gradients);
  }
  if (!any) AddMissing(context, result, "gradients_not_recorded", "");
}

}  // namespace

extern const Check kGradientDirection;
const Check kGradientDirection = {"first-step.gradients.direction", {}, &Evaluate};

}  // namespace paritect
