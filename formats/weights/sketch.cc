#include "formats/weights/sketch.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "formats/weights/place_sums.h"

namespace paritect {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014): every bit depends on every bit.
constexpr std::uint64_t Scatter(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

}  // namespace

std::size_t SketchPlaces(std::uint64_t elements) {
  std::size_t places = kSketchPlacesMax;
  while (places > 1 && elements < places * kSketchElementsPerPlace) places /= 2;
  return places > 1 ? places : 0;
}

// A row of 128 elements takes each place once, in an order that the row's number gives; so does its set of signs.
template <typename T>
void Sketcher::AddRow(const T* values, std::size_t first, std::size_t count) {
  constexpr double kSigns[2] = {1.0, -1.0};
  const std::uint64_t row = elements_ / kSketchPlacesMax;
  const std::uint64_t signs[2] = {Scatter(3 * row), Scatter(3 * row + 1)};
  const std::size_t turn = Scatter(3 * row + 2) % kSketchPlacesMax;
  if constexpr (std::is_same_v<T, float>) {
    if (count == kSketchPlacesMax) {
      AddSignedRow(values, signs, turn, places_);
      elements_ += count;
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first + i;
    const double value = static_cast<double>(values[i]);
    const double taken = std::isfinite(value) ? value : 0.0;
    places_[at ^ turn] += taken * kSigns[signs[at / 64] >> at % 64 & 1];
  }
  elements_ += count;
}

template <typename T>
void Sketcher::AddValues(const T* values, std::size_t count) {
  while (count > 0) {
    const std::size_t first = elements_ % kSketchPlacesMax;
    const std::size_t part = std::min(count, kSketchPlacesMax - first);
    AddRow(values, first, part);
    values += part;
    count -= part;
  }
}

void Sketcher::Add(const float* values, std::size_t count) {
  AddValues(values, count);
}
void Sketcher::Add(const double* values, std::size_t count) {
  AddValues(values, count);
}

// Fewer places: halves laid on each other.
std::vector<double> Sketcher::Finish() const {
  std::vector<double> places(places_, places_ + kSketchPlacesMax);
  const std::size_t wanted = SketchPlaces(elements_);
  while (places.size() > wanted && !places.empty()) {
    const std::size_t half = places.size() / 2;
    for (std::size_t i = 0; i < half; ++i) places[i] += places[i + half];
    places.resize(half);
  }
  return places;
}

std::vector<std::uint64_t> SignPlaces(std::uint64_t elements) {
  std::vector<std::uint64_t> places;
  if (elements <= kSignPlacesMax) {
    for (std::uint64_t i = 0; i < elements; ++i) places.push_back(i);
    return places;
  }
  // One in each of equal parts.
  const std::uint64_t part = elements / kSignPlacesMax;
  for (std::uint64_t i = 0; i < kSignPlacesMax; ++i) places.push_back(i * part + Scatter(elements ^ i << 40) % part);
  return places;
}

}  // namespace paritect
