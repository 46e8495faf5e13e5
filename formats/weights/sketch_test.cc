#include "formats/weights/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace paritect {
namespace {

std::vector<double> SketchOf(const std::vector<float>& values, std::size_t block = 4096) {
  Sketcher sketcher;
  for (std::size_t at = 0; at < values.size(); at += block) {
    sketcher.Add(values.data() + at, std::min(block, values.size() - at));
  }
  return sketcher.Finish();
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double Cosine(const std::vector<double>& a, const std::vector<double>& b) {
  return Product(a, b) / std::sqrt(Product(a, a) * Product(b, b));
}

std::vector<float> Normal(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> law;
  std::vector<float> values(count);
  for (float& value : values) value = law(random);
  return values;
}

TEST(Sketch, NeverHoldsSingleValues) {
  EXPECT_EQ(SketchPlaces(0), 0U);
  EXPECT_EQ(SketchPlaces(15), 0U);
  EXPECT_EQ(SketchPlaces(16), 2U);
  EXPECT_EQ(SketchPlaces(1024), 128U);
  for (std::uint64_t elements = 16; elements < 5000; ++elements) EXPECT_LE(SketchPlaces(elements) * 8, elements);
}

TEST(Sketch, BlocksDoNotMatter) {
  const std::vector<float> values = Normal(10'000, 1);
  EXPECT_EQ(SketchOf(values), SketchOf(values, 16));
  EXPECT_EQ(SketchOf(values), SketchOf(values, 10'000));
}

// Values in fp32 are added many at a time, those in fp64 one by one.
TEST(Sketch, VectorsAddWhatSingleValuesDo) {
  std::vector<float> values = Normal(10'000, 3);
  values[5] = std::nanf("");
  values[700] = HUGE_VALF;
  values[701] = -HUGE_VALF;
  values[702] = -0.0F;
  Sketcher one_by_one;
  for (const float value : values) {
    const double wide = static_cast<double>(value);
    one_by_one.Add(&wide, 1);
  }
  EXPECT_EQ(SketchOf(values), one_by_one.Finish());
}

TEST(Sketch, ProductsAreAboutThoseOfTheElements) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> a = Normal(100'000, seed), other = Normal(100'000, seed + 100);
    std::vector<float> near = a;
    for (std::size_t i = 0; i < near.size(); ++i) near[i] += 0.1F * other[i];
    EXPECT_NEAR(Product(SketchOf(a), SketchOf(a)) / 100'000, 1, 0.5);
    EXPECT_NEAR(Cosine(SketchOf(a), SketchOf(near)), 0.995, 0.004);
    EXPECT_LT(std::fabs(Cosine(SketchOf(a), SketchOf(other))), 0.4);
  }
}

// What stands in single rows or columns of a matrix alone, as the gradient of an embedding does.
TEST(Sketch, StructureDoesNotMisleadIt) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> draw = Normal(4096, seed), other = Normal(4096, seed + 50);
    std::vector<float> a(512 * 512), b(512 * 512);
    for (std::size_t i = 0; i < 512; ++i) {
      for (std::size_t k = 0; k < 8; ++k) {
        a[i * 512 + 64 * k] = draw[8 * i + k];
        b[i * 512 + 64 * k] = other[8 * i + k];
      }
    }
    EXPECT_NEAR(Product(SketchOf(a), SketchOf(a)) / 4096, 1, 0.5);
    EXPECT_LT(std::fabs(Cosine(SketchOf(a), SketchOf(b))), 0.4);
  }
}

TEST(Sketch, TheDifferenceOfTwoIsThatOfTheDifference) {
  const std::vector<float> before = Normal(50'000, 1), step = Normal(50'000, 2);
  std::vector<float> after = before, change = before;
  for (std::size_t i = 0; i < before.size(); ++i) {
    after[i] = before[i] + 1e-6F * step[i];
    change[i] = after[i] - before[i];
  }
  const std::vector<double> a = SketchOf(before), b = SketchOf(after), wanted = SketchOf(change);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(b[i] - a[i], wanted[i], 1e-11) << i;
}

TEST(SignPlaces, AreOnceEachAndAscend) {
  EXPECT_EQ(SignPlaces(5).size(), 5U);
  for (const std::uint64_t elements : {4097ULL, 100'000ULL, 1ULL << 36}) {
    const std::vector<std::uint64_t> places = SignPlaces(elements);
    EXPECT_EQ(places.size(), kSignPlacesMax);
    for (std::size_t i = 1; i < places.size(); ++i) EXPECT_LT(places[i - 1], places[i]);
    EXPECT_LT(places.back(), elements);
  }
}

}  // namespace
}  // namespace paritect
