// Which tensors of two models are the same one: by name, by being its parts, by value, at last by shape and order.
#ifndef PARITECT_CHECKS_WEIGHTS_MATCHING_H_
#define PARITECT_CHECKS_WEIGHTS_MATCHING_H_

#include <vector>

#include "checks/weights/model_state.h"

namespace paritect {

enum class MatchedBy { kName, kFused, kValues, kOrder };

// One tensor on a side stands for several parts on the other, or one for one.
struct TensorPair {
  std::vector<const ModelTensor*> a;
  std::vector<const ModelTensor*> b;
  MatchedBy by = MatchedBy::kName;

  bool one_to_one() const { return a.size() == 1 && b.size() == 1; }
};

struct ModelMatch {
  std::vector<TensorPair> pairs;  // in the order of a
  std::vector<const ModelTensor*> only_a;
  std::vector<const ModelTensor*> only_b;
  bool by_order() const;  // some pair was matched by nothing better
};

// The pairs point into both states.
ModelMatch MatchModels(const CheckContext& context, const ModelState& a, const ModelState& b);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_MATCHING_H_
