// Sums over elements by their places, as vectors: what LayoutHasher and Sketcher do with every element of a tensor.
#ifndef PARITECT_FORMATS_WEIGHTS_PLACE_SUMS_H_
#define PARITECT_FORMATS_WEIGHTS_PLACE_SUMS_H_

#include <cstddef>
#include <cstdint>

namespace paritect {

inline constexpr std::size_t kRunMax = 1024;

struct RunSums {
  std::uint64_t plain = 0;
  std::uint64_t weighted = 0;  // by the powers of kPlaceWeight, counted from the run's begin
};

// Of at most kRunMax mixes; that of -0 counts as 0.
RunSums SumRun(const std::uint64_t* mixes, std::size_t count);
// kPlaceWeight to that power; at most kRunMax.
std::uint64_t RunWeight(std::size_t count);

// Adds 128 values to 128 places: the value at i, negated where bit i is set, to place i ^ turn; what is no finite
// number as 0. Each place takes one value, so that the order of additions is that of the calls.
void AddSignedRow(const float* values, const std::uint64_t (&signs)[2], std::size_t turn, double* places);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_PLACE_SUMS_H_
