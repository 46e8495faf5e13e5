// Sketches of tensors: few numbers whose scalar products estimate those of the elements. So the angle between the
// updates of two sides is known without their weights.
#ifndef PARITECT_FORMATS_WEIGHTS_SKETCH_H_
#define PARITECT_FORMATS_WEIGHTS_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paritect {

// Of a tensor with many elements: products are known to sqrt(2 / 128), an eighth.
inline constexpr std::size_t kSketchPlacesMax = 128;
inline constexpr std::size_t kSketchElementsPerPlace = 8;

// How many places a tensor's sketch has: a power of two; 0: too small for one.
std::size_t SketchPlaces(std::uint64_t elements);

// Takes the elements in C order. Each goes, with a sign, into one of the places, both drawn from its index; what is no
// finite number counts as 0.
class Sketcher {
 public:
  void Add(const float* values, std::size_t count);
  void Add(const double* values, std::size_t count);
  // SketchPlaces of what was added.
  std::vector<double> Finish() const;

 private:
  template <typename T>
  void AddValues(const T* values, std::size_t count);
  template <typename T>
  void AddRow(const T* values, std::size_t first, std::size_t count);

  std::uint64_t elements_ = 0;
  double places_[kSketchPlacesMax] = {};
};

// Places at which values are sampled for their signs: drawn from the number of elements, ascending, at most
// kSignPlacesMax, each once.
inline constexpr std::size_t kSignPlacesMax = 4096;
std::vector<std::uint64_t> SignPlaces(std::uint64_t elements);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_SKETCH_H_
