// How alike two sets of vectors point, from sketches and samples: of updates and of gradients.
#ifndef PARITECT_CHECKS_WEIGHTS_DIRECTION_H_
#define PARITECT_CHECKS_WEIGHTS_DIRECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paritect {

// Signs of the same places on both sides (TensorFingerprint.sampled_signs).
struct SignCount {
  std::uint64_t places = 0;  // where no side is zero
  std::uint64_t differ = 0;
  std::uint64_t alone = 0;  // where one side alone is not zero
  void Add(const SignCount& other);
  double share() const { return places == 0 ? 0 : static_cast<double>(differ) / static_cast<double>(places); }
};
SignCount CountSigns(const std::string& a, const std::string& b);

// One tensor's two vectors, by their scalar products.
struct VectorPair {
  std::string name;
  double aa = 0, ab = 0, bb = 0;
  std::size_t places = 0;  // of the sketch: how well the products are known
  SignCount signs;
  std::uint64_t elements = 0;
  double moved = 1;  // share of them that are not 0 on both sides: rows of a table that no batch uses stand still
  double cosine() const;
  double ratio() const;  // |b| / |a|
  double moved_elements() const { return moved * static_cast<double>(elements); }
};

// All tensors together, each by its size.
struct Direction {
  double aa = 0, ab = 0, bb = 0;
  SignCount signs;
  void Add(const VectorPair& pair);
  double cosine() const;
  double relative() const;  // |a - b| / |a|
  double ratio() const;     // |b| / |a|
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_DIRECTION_H_
