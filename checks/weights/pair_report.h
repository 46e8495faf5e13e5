// Two states of a model, tensor by tensor: what the checks and `paritect diff weights` say of them.
#ifndef PARITECT_CHECKS_WEIGHTS_PAIR_REPORT_H_
#define PARITECT_CHECKS_WEIGHTS_PAIR_REPORT_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/weights/matching.h"
#include "checks/weights/orientation.h"
#include "checks/weights/tensor_comparison.h"

namespace paritect {

class PairedStates {
 public:
  // Both must outlive this.
  PairedStates(const CheckContext& context, const ModelState& a, const ModelState& b);

  const ModelState& a() const { return a_; }
  const ModelState& b() const { return b_; }
  const ModelMatch& match() const { return match_; }
  Sameness sameness(std::size_t pair) const { return sameness_[pair]; }
  ShapeRelation shape(std::size_t pair) const { return shape_[pair]; }
  // Settings decide its values: never drawn.
  static bool IsDerived(const TensorPair& pair) { return pair.a.front()->derived || pair.b.front()->derived; }

  // Hardly any tensor that is not constant is the same: both were drawn at random.
  bool LooksRandom(const Profile& profile) const;
  // Pairs that hold each other's values, and all of these.
  const std::vector<std::pair<std::size_t, std::size_t>>& exchanged_pairs() const { return exchanged_pairs_; }
  const std::set<std::size_t>& exchanged() const { return exchanged_; }
  // Names without partner; none that are another name of a matched tensor, derived, or left out on purpose.
  std::vector<std::string> Unmatched(Side side) const;
  // Derived ones without partner.
  int DerivedAlone() const;

 private:
  void FindExchanged();

  const ModelState& a_;
  const ModelState& b_;
  ModelMatch match_;
  std::vector<Sameness> sameness_;
  std::vector<ShapeRelation> shape_;
  std::vector<std::pair<std::size_t, std::size_t>> exchanged_pairs_;
  std::set<std::size_t> exchanged_;
};

// "q.weight, k.weight, v.weight"
std::string NamesOf(const std::vector<const ModelTensor*>& tensors);
// tensor, other (the name on the other side), a, b (shape and type), figures, place.
MessageArgs ArgsOf(const TensorPair& pair);
// baseline, migrated and facts of the finding.
void AddPairFigures(const TensorPair& pair, v1::Finding& finding);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_PAIR_REPORT_H_
