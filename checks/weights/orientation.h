// In which order the axes of a tensor have to stand on the other side. Under one name they stand in one order: a tensor
// that is transposed there is another one, but for one of another format whose sizes tell it, or whose kind is turned.
// Names of another layout (rules/tensor_names.h) say that they are turned. Where neither binds (other names, formats
// that hold any framework's axes), tensors of the kind whose sizes tell do.
#ifndef PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_
#define PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/weights/tensor_comparison.h"

namespace paritect {

// Axes of length 1 do not count.
enum class ShapeRelation {
  kSame,
  kTransposed,  // the same sizes in another order, as they have to stand or as nothing forbids
  kWrongOrder,  // ... in an order in which they must not stand
  kOther,
};

class Orientation {
 public:
  // `sameness`: of each pair, by its own evidence. `pairs` must outlive this.
  Orientation(const std::vector<TensorPair>& pairs, const std::vector<Sameness>& sameness);

  // As before; of the same values that stand straight or transposed also kTurned, kNotTurned, kUnplaced.
  Sameness Judge(std::size_t pair) const;
  // Of any pair one to one and whole; of others kSame.
  ShapeRelation ShapeOf(std::size_t pair) const;

 private:
  using Axes = std::vector<std::size_t>;  // of a, in the order of b; of those longer than 1
  struct AxisMap {
    Axes axes;
    bool by_size = true;  // no other order has these sizes
    bool tied = false;    // another order would hold the same values
  };

  // nullopt: the axes are not recorded, or are others.
  static std::optional<AxisMap> MapOf(const TensorPair& pair);
  // nullopt: not known.
  std::optional<Axes> Expected(std::size_t pair) const;
  // What others of its kind show, if they agree.
  std::optional<Axes> SeenBeside(std::size_t pair) const;

  const std::vector<TensorPair>& pairs_;
  std::vector<Sameness> sameness_;
  std::vector<std::optional<AxisMap>> maps_;        // of each pair that may be turned
  std::map<std::string, std::map<Axes, int>> seen_;  // by kind: how many tensors
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_ORIENTATION_H_
