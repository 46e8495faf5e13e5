#include "checks/weights/direction.h"

#include <algorithm>
#include <cmath>

namespace paritect {
namespace {

double CosineOf(double aa, double ab, double bb) {
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

void SignCount::Add(const SignCount& other) {
  places += other.places;
  differ += other.differ;
  alone += other.alone;
}

SignCount CountSigns(const std::string& a, const std::string& b) {
  SignCount count;
  if (a.size() != b.size()) return count;
  for (std::size_t i = 0; i < a.size() * 4; ++i) {
    const int shift = static_cast<int>(i % 4) * 2;
    const int left = static_cast<unsigned char>(a[i / 4]) >> shift & 3;
    const int right = static_cast<unsigned char>(b[i / 4]) >> shift & 3;
    if (left == 0 || right == 0) {  // no direction
      count.alone += left != right ? 1 : 0;
      continue;
    }
    ++count.places;
    count.differ += left != right ? 1 : 0;
  }
  return count;
}

double VectorPair::cosine() const {
  return CosineOf(aa, ab, bb);
}

double VectorPair::ratio() const {
  return aa > 0 ? std::sqrt(bb / aa) : 1;
}

void Direction::Add(const VectorPair& pair) {
  aa += pair.aa;
  ab += pair.ab;
  bb += pair.bb;
  signs.Add(pair.signs);
}

double Direction::cosine() const {
  return CosineOf(aa, ab, bb);
}

double Direction::relative() const {
  return aa > 0 ? std::sqrt(std::max(0.0, aa - 2 * ab + bb) / aa) : 0;
}

double Direction::ratio() const {
  return aa > 0 ? std::sqrt(bb / aa) : 0;
}

}  // namespace paritect
