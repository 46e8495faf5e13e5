#include "checks/weights/layout.h"

#include <gtest/gtest.h>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

PlacedValues Placed(const Floats& values, std::vector<std::int64_t> shape) {
  return *PlacedOf(TensorOf("w", std::move(shape), values));
}

const Floats kValues = RandomFloats(6 * 10, 1);

TEST(Layout, TellsTransposedFromReshapedAndShuffled) {
  const PlacedValues a = Placed(kValues, {6, 10});
  EXPECT_EQ(LayoutOf(a, a), Layout::kSameOrder);
  EXPECT_EQ(LayoutOf(a, Placed(kValues, {60})), Layout::kSameOrder);
  EXPECT_EQ(LayoutOf(a, Placed(kValues, {2, 3, 1, 10})), Layout::kSameOrder);
  EXPECT_EQ(LayoutOf(a, Placed(Transposed(kValues, 6, 10), {10, 6})), Layout::kTransposed);
  EXPECT_EQ(LayoutOf(a, Placed(kValues, {10, 6})), Layout::kMisread);
  EXPECT_EQ(LayoutOf(a, Placed(kValues, {4, 15})), Layout::kUnknown);
  Floats shuffled = kValues;
  std::swap(shuffled[3], shuffled[47]);
  EXPECT_EQ(LayoutOf(a, Placed(shuffled, {6, 10})), Layout::kOther);
  EXPECT_EQ(LayoutOf(a, Placed(shuffled, {10, 6})), Layout::kOther);
}

TEST(Layout, SquareAndConstantMatrices) {
  const Floats square = RandomFloats(64, 2);
  EXPECT_EQ(LayoutOf(Placed(square, {8, 8}), Placed(Transposed(square, 8, 8), {8, 8})), Layout::kTransposed);
  const Floats ones(60, 1.0F);
  EXPECT_EQ(LayoutOf(Placed(ones, {6, 10}), Placed(ones, {10, 6})), Layout::kTransposed);
}

TEST(Layout, PartsInOrderExchangedOrMixed) {
  const auto rows = [](std::size_t first, std::size_t count) {
    return Floats(kValues.begin() + static_cast<std::ptrdiff_t>(first * 10),
                  kValues.begin() + static_cast<std::ptrdiff_t>((first + count) * 10));
  };
  const std::vector<PlacedValues> parts = {Placed(rows(0, 2), {2, 10}), Placed(rows(2, 2), {2, 10}),
                                           Placed(rows(4, 2), {2, 10})};
  EXPECT_EQ(JointOf(Placed(kValues, {6, 10}), parts), Joint::kInOrder);
  EXPECT_EQ(JointOf(Placed(Transposed(kValues, 6, 10), {10, 6}), parts), Joint::kInOrder);
  const std::vector<PlacedValues> exchanged = {parts[1], parts[0], parts[2]};
  EXPECT_EQ(JointOf(Placed(kValues, {6, 10}), exchanged), Joint::kExchanged);
  Floats mixed;
  for (const std::size_t row : {0, 2, 4, 1, 3, 5}) {
    const Floats one = rows(row, 1);
    mixed.insert(mixed.end(), one.begin(), one.end());
  }
  EXPECT_EQ(JointOf(Placed(mixed, {6, 10}), parts), Joint::kInterleaved);
  Floats shuffled = kValues;
  std::swap(shuffled[3], shuffled[47]);
  EXPECT_EQ(JointOf(Placed(shuffled, {6, 10}), parts), Joint::kOther);
  EXPECT_EQ(JointOf(Placed(kValues, {3, 20}), parts), Joint::kUnknown);
}

// Three of two parts each, of one and of two axes, also where the whole has the inner axes exchanged.
TEST(Layout, PartsThatAreStacked) {
  std::vector<PlacedValues> parts, vectors;
  Floats turned;
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    const Floats one(kValues.begin() + i * 20, kValues.begin() + (i + 1) * 20);
    for (std::ptrdiff_t half = 0; half < 2; ++half) {
      const Floats rows(one.begin() + half * 10, one.begin() + (half + 1) * 10);
      parts.push_back(Placed(rows, {2, 5}));
      vectors.push_back(Placed(rows, {10}));
    }
    const Floats columns = Transposed(one, 4, 5);
    turned.insert(turned.end(), columns.begin(), columns.end());
  }
  EXPECT_EQ(LayoutOf(Placed(kValues, {3, 4, 5}), *StackOf(parts, 2)), Layout::kSameOrder);
  EXPECT_EQ(LayoutOf(Placed(turned, {3, 5, 4}), *StackOf(parts, 2)), Layout::kTransposed);
  EXPECT_EQ(LayoutOf(Placed(kValues, {3, 20}), *StackOf(vectors, 2)), Layout::kSameOrder);
  EXPECT_EQ(StackOf(vectors, 2)->axes, Placed(kValues, {3, 20}).axes);
  std::swap(parts[0], parts[2]);
  EXPECT_EQ(LayoutOf(Placed(kValues, {3, 4, 5}), *StackOf(parts, 2)), Layout::kOther);
  EXPECT_FALSE(StackOf(parts, 4).has_value()) << "six parts";
  parts[1] = vectors[1];
  EXPECT_FALSE(StackOf(parts, 2).has_value());
}

}  // namespace
}  // namespace paritect
