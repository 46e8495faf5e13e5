// In which order the axes of a tensor have to stand on the other side. Where the sizes do not tell (square matrices,
// convolutions with as many inputs as outputs), other tensors of its kind do, else the names (rules/tensor_names.h).
#ifndef PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_
#define PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/weights/tensor_comparison.h"

namespace paritect {

class Orientation {
 public:
  // `sameness`: of each pair, by its own evidence.
  Orientation(const std::vector<TensorPair>& pairs, const std::vector<Sameness>& sameness);

  // Of the same values that stand straight or transposed: as before, or kTurned, kNotTurned, kUnplaced.
  Sameness Judge(const TensorPair& pair, Sameness sameness) const;

 private:
  using Axes = std::vector<std::size_t>;  // of a, in the order of b; of those longer than 1
  // What is expected of the pair's kind; nullopt: not known.
  std::optional<Axes> Expected(const TensorPair& pair) const;

  std::map<std::string, std::set<Axes>> seen_;  // by kind
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_
