#include "checks/weights/gradients.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "checks/finding_budget.h"
#include "checks/weights/checkpoints.h"
#include "checks/weights/dumps.h"
#include "checks/weights/pair_report.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

struct Gradient {
  std::string name;
  double l2 = 0;
  const v1::TensorFingerprint* tensor = nullptr;  // nullptr: of a dump
};
using Gradients = std::map<std::string, Gradient>;  // by common name

// "Module.layers.0.attn.Attention.0" and "gradient.weight.0": "layers.0.attn.weight".
std::string ParameterName(const v1::DumpedCall& call, const v1::DumpedTensor& tensor) {
  std::vector<std::string> parts = absl::StrSplit(call.name(), '.');
  if (parts.size() > 1 && ParseInt(parts.back()).has_value()) parts.pop_back();
  if (!parts.empty()) parts.pop_back();            // the class
  if (!parts.empty()) parts.erase(parts.begin());  // "Module", "Cell"
  absl::string_view parameter = tensor.place();
  absl::ConsumePrefix(&parameter, "gradient.");
  absl::ConsumeSuffix(&parameter, ".0");
  parts.emplace_back(parameter);
  return absl::StrJoin(parts, ".");
}

void Add(const CheckContext& context, Gradient gradient, Gradients& all) {
  all.emplace(context.rules.tensor_names.Canonical(gradient.name), std::move(gradient));
}

// Of the run's first recorded step; of ranks the first.
Gradients GradientsOf(const CheckContext& context, const RunView& run, std::vector<std::string>& evidence) {
  Gradients all;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& one : bundle->evidence()) {
      if (one.outcome() != v1::OUTCOME_COLLECTED || !all.empty()) continue;
      for (const v1::TensorFingerprint& tensor : one.weights().tensors()) {
        if (tensor.role() == v1::TENSOR_ROLE_GRADIENT) Add(context, {tensor.name(), L2Of(tensor), &tensor}, all);
      }
      for (const v1::DumpedCall& call : one.tensor_dump().calls()) {
        if (call.direction() != v1::DumpedCall::DIRECTION_PARAMETERS_GRADIENT) continue;
        for (const v1::DumpedTensor& tensor : call.outputs()) {
          if (tensor.has_l2()) Add(context, {ParameterName(call, tensor), tensor.l2(), nullptr}, all);
        }
      }
      if (!all.empty()) evidence.push_back(DisplayBytes(one.source()));
    }
  }
  return all;
}

std::optional<VectorPair> VectorsOf(const Gradient& a, const Gradient& b) {
  if (a.tensor == nullptr || b.tensor == nullptr) return std::nullopt;
  VectorPair vectors;
  vectors.name = a.name;
  vectors.elements = ElementsOf(*a.tensor);
  vectors.signs = CountSigns(a.tensor->sampled_signs(), b.tensor->sampled_signs());
  const auto products = ProductsOf({a.tensor->sketch().begin(), a.tensor->sketch().end()},
                                   {b.tensor->sketch().begin(), b.tensor->sketch().end()});
  if (products.has_value()) {
    vectors.aa = products->aa;
    vectors.ab = products->ab;
    vectors.bb = products->bb;
    vectors.places = products->places;
  }
  if (!products.has_value() && vectors.signs.places == 0) return std::nullopt;
  return vectors;
}

std::string FirstOf(std::vector<std::string> names) {
  constexpr std::size_t kShown = 20;
  if (names.size() > kShown) names.resize(kShown);
  return absl::StrJoin(names, ", ");
}

// Whether both sides start alike: equal initial weights, or operators that agree forwards.
bool StartsAlike(const CheckContext& context, const RunCheckpoints* migrated) {
  v1::CheckResult nowhere;
  for (const DumpPair& pair : PairDumps(context, nowhere)) {
    const Divergence forward = FindDivergence(context, pair, v1::DumpedCall::DIRECTION_FORWARD);
    if (forward.compared > 0) return forward.kind == Divergence::Kind::kNone;
  }
  const RunCheckpoints* reference = ReferenceCheckpoints(context);
  if (reference == nullptr || migrated == nullptr) return false;
  const ModelState a = StateOf(context, reference->At(0)), b = StateOf(context, migrated->At(0));
  const PairedStates states(context, a, b);
  for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
    if (!IsSame(states.sameness(i))) return false;
  }
  return !states.match().pairs.empty();
}

const RunCheckpoints* CheckpointsNamed(const CheckContext& context, const std::string& run) {
  for (const RunCheckpoints& one : CheckpointsOf(context, Side::kMigrated)) {
    if (one.run.name == run) return &one;
  }
  return nullptr;
}

// Parameters that matter little may be all noise: their share of the whole gradient decides.
void Differs(const CheckContext& context, FindingBudget& budget, const ParameterGradients& gradients,
             const GradientPair& pair) {
  const double share = std::max(pair.a_l2 * pair.a_l2 / std::max(gradients.a_squares, 1e-300),
                                pair.b_l2 * pair.b_l2 / std::max(gradients.b_squares, 1e-300));
  const bool matters = share >= context.profile.threshold("gradient_share");
  v1::Finding* finding =
      budget.Add(matters ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, "parameter_gradient_differs", pair.name,
                 {{"tensor", pair.name},
                  {"a", FormatShort(pair.a_l2)},
                  {"b", FormatShort(pair.b_l2)},
                  {"relative", FormatShort(100 * pair.relative(), 3)},
                  {"limit", FormatShort(100 * context.profile.threshold("gradient_norm_relative_error"), 3)}});
  if (finding == nullptr) return;
  finding->set_baseline(FormatShort(pair.a_l2));
  finding->set_migrated(FormatShort(pair.b_l2));
  SetFact(*finding, "relative_error", pair.relative());
  SetFact(*finding, "share_of_gradient", share);
  SetFact(*finding, "ratio", pair.a_l2 > 0 ? pair.b_l2 / pair.a_l2 : 0);
}

}  // namespace

double GradientPair::relative() const {
  const double size = std::max(a_l2, b_l2);
  if (!std::isfinite(a_l2) || !std::isfinite(b_l2)) return a_l2 == b_l2 ? 0 : 1;
  return size > 0 ? std::fabs(a_l2 - b_l2) / size : 0;
}

std::vector<ParameterGradients> PairGradients(const CheckContext& context) {
  std::vector<ParameterGradients> all;
  Gradients baseline;
  std::vector<std::string> evidence;
  for (const RunView& run : context.evidence.Runs(Side::kBaseline)) {
    if (baseline.empty()) baseline = GradientsOf(context, run, evidence);
  }
  if (baseline.empty()) return all;
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    ParameterGradients one;
    one.run = run.name;
    one.evidence = evidence;
    const Gradients migrated = GradientsOf(context, run, one.evidence);
    for (const auto& [name, gradient] : baseline) {
      if (!migrated.contains(name)) one.only_baseline.push_back(gradient.name);
    }
    for (const auto& [name, gradient] : migrated) {
      const auto partner = baseline.find(name);
      if (partner == baseline.end()) {
        one.only_migrated.push_back(gradient.name);
        continue;
      }
      const Gradient& a = partner->second;
      one.pairs.push_back({a.name, gradient.name, a.l2, gradient.l2, VectorsOf(a, gradient)});
      one.a_squares += a.l2 * a.l2;
      one.b_squares += gradient.l2 * gradient.l2;
    }
    if (!one.pairs.empty()) all.push_back(std::move(one));
  }
  return all;
}

bool JudgeParameterGradients(const CheckContext& context, v1::CheckResult& result) {
  const double limit = context.profile.threshold("gradient_norm_relative_error");
  const std::vector<ParameterGradients> all = PairGradients(context);
  bool agree = !all.empty();
  for (const ParameterGradients& gradients : all) {
    for (const Side side : kBothSides) {
      const auto& names = side == Side::kBaseline ? gradients.only_baseline : gradients.only_migrated;
      if (names.empty()) continue;
      agree = false;  // the rest may
      AddMissing(context, result, "gradients_on_one_side", gradients.run,
                 {{"side", std::string(SideName(side))},
                  {"count", absl::StrCat(names.size())},
                  {"names", FirstOf(names)}});
    }
    std::vector<const GradientPair*> off;
    for (const GradientPair& pair : gradients.pairs) {
      if (pair.relative() > limit) off.push_back(&pair);
    }
    if (off.empty()) {
      v1::Finding& note = AddNote(context, result, "measured/parameter_gradients", gradients.run,
                                  {{"count", absl::StrCat(gradients.pairs.size())}});
      for (const std::string& source : gradients.evidence) note.add_evidence(source);
      continue;
    }
    agree = false;
    if (!StartsAlike(context, CheckpointsNamed(context, gradients.run))) {
      AddMissing(context, result, "gradients_start_not_known", gradients.run, {{"count", absl::StrCat(off.size())}});
      continue;
    }
    FindingBudget budget(context, result);
    for (const GradientPair* pair : off) Differs(context, budget, gradients, *pair);
    budget.Finish();
  }
  return agree;
}

}  // namespace paritect
