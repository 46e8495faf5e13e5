#include "checks/weights/gradient_noise.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "checks/weights/gradients.h"

namespace paritect {
namespace {

double PerElement(double squares, double elements) {
  return elements > 0 ? squares / elements : 0;
}

}  // namespace

GradientNoise::GradientNoise(const CheckContext& context, const std::string& run,
                             const std::vector<VectorPair>& updates)
    : context_(context) {
  for (const ParameterGradients& recorded : PairGradients(context)) {
    if (recorded.run != run) continue;
    for (const GradientPair& pair : recorded.pairs) {
      gradients_[context.rules.tensor_names.Canonical(pair.name)] = {pair.a_l2, pair.b_l2};
    }
  }
  double moved = 0, known = 0, a = 0, b = 0, u = 0, v = 0;
  for (const VectorPair& update : updates) {
    moved += update.moved_elements();
    u += update.aa;
    v += update.bb;
    const auto gradient = gradients_.find(context.rules.tensor_names.Canonical(update.name));
    if (gradient == gradients_.end()) continue;
    known += update.moved_elements();
    a += gradient->second.a * gradient->second.a;
    b += gradient->second.b * gradient->second.b;
  }
  a_gradient_square_ = PerElement(a, known);
  b_gradient_square_ = PerElement(b, known);
  a_update_square_ = PerElement(u, moved);
  b_update_square_ = PerElement(v, moved);
}

bool GradientNoise::IsBias(const std::string& name) const {
  return absl::EndsWith(context_.rules.tensor_names.Canonical(name), "bias");
}

bool GradientNoise::MayBeNoise(const VectorPair& update, const Optimizer& optimizer) const {
  constexpr std::size_t kPlacesMin = 8;
  const double elements = update.moved_elements();
  const auto gradient = gradients_.find(context_.rules.tensor_names.Canonical(update.name));
  if (gradient != gradients_.end()) {
    const double of_mean = context_.profile.threshold("gradient_noise");
    const auto small = [&](double l2, double mean) {
      return PerElement(l2 * l2, elements) < of_mean * of_mean * mean;
    };
    return small(gradient->second.a, a_gradient_square_) || small(gradient->second.b, b_gradient_square_);
  }
  const double share = context_.profile.threshold(optimizer.adaptive ? "update_noise_adaptive" : "update_noise");
  const bool small = PerElement(update.aa, elements) < share * share * a_update_square_ ||
                     PerElement(update.bb, elements) < share * share * b_update_square_;
  if (update.places >= kPlacesMin && small) return true;
  // In 16 bits the noise itself is above epsilon, and a tensor without a sketch tells no size.
  return optimizer.adaptive && IsBias(update.name) && (optimizer.narrow || update.places < kPlacesMin);
}

}  // namespace paritect
