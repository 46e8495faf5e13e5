#include "formats/weights/layout_hash.h"

#include <gtest/gtest.h>

#include <random>

#include "common/tensor_hashes.h"

namespace paritect {
namespace {

using Mixes = std::vector<std::uint64_t>;

Mixes Random(std::size_t count) {
  std::mt19937_64 random(count);
  Mixes mixes(count);
  for (std::uint64_t& one : mixes) one = random();
  return mixes;
}

v1::LayoutHash HashOf(const Mixes& mixes, const std::vector<std::int64_t>& shape, std::size_t block = 4096) {
  LayoutHasher hasher(shape);
  for (std::size_t at = 0; at < mixes.size(); at += block) {
    hasher.Add(mixes.data() + at, std::min(block, mixes.size() - at));
  }
  v1::LayoutHash hash;
  hasher.Finish(hash);
  return hash;
}

// The definition, element by element.
v1::LayoutHash SlowHashOf(const Mixes& mixes, const std::vector<std::int64_t>& shape) {
  v1::LayoutHash hash;
  std::vector<std::uint64_t> axes(shape.size());
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    hash.set_order(hash.order() + PlaceWeight(i) * mixes[i]);
    std::uint64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      axes[axis] += PlaceWeight(rest % static_cast<std::uint64_t>(shape[axis])) * mixes[i];
      rest /= static_cast<std::uint64_t>(shape[axis]);
    }
  }
  for (const std::uint64_t axis : axes) hash.add_axes(axis);
  return hash;
}

Mixes Transposed(const Mixes& mixes, std::size_t rows, std::size_t columns) {
  Mixes turned;
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) turned.push_back(mixes[r * columns + c]);
  }
  return turned;
}

TEST(LayoutHash, NegativeZeroIsZero) {
  for (const std::size_t count : {3U, 16U, 40U, 3000U}) {
    Mixes mixes = Random(count), zeros = mixes;
    for (std::size_t i = 1; i < count; i += 7) {
      mixes[i] = kNegativeZeroLow;
      zeros[i] = 0;
    }
    const auto size = static_cast<std::int64_t>(count);
    EXPECT_EQ(HashOf(mixes, {1, size}).SerializeAsString(), SlowHashOf(zeros, {1, size}).SerializeAsString()) << count;
  }
}

TEST(LayoutHash, IsItsDefinitionInBlocksOfAnySize) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{3, 5}, {2, 3, 4, 5}, {7, 1, 3}, {2, 5000}, {1, 1}, {4096, 2}}) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    const Mixes mixes = Random(count);
    const std::string expected = SlowHashOf(mixes, shape).DebugString();
    for (const std::size_t block : {1U, 7U, 1024U, 4096U}) {
      EXPECT_EQ(HashOf(mixes, shape, block).DebugString(), expected) << count << " in " << block;
    }
  }
}

TEST(LayoutHash, AxesChangePlacesWithATranspositionAlone) {
  const Mixes mixes = Random(32 * 64);
  const v1::LayoutHash hash = HashOf(mixes, {32, 64});
  const v1::LayoutHash turned = HashOf(Transposed(mixes, 32, 64), {64, 32});
  EXPECT_EQ(turned.axes(0), hash.axes(1));
  EXPECT_EQ(turned.axes(1), hash.axes(0));
  const v1::LayoutHash reshaped = HashOf(mixes, {64, 32});
  EXPECT_EQ(reshaped.order(), hash.order());
  EXPECT_NE(reshaped.axes(0), hash.axes(1));
  EXPECT_NE(reshaped.axes(1), hash.axes(0));
}

TEST(LayoutHash, PartsMakeTheWhole) {
  const Mixes whole = Random(6 * 10);
  const Mixes upper(whole.begin(), whole.begin() + 20), lower(whole.begin() + 20, whole.end());
  const v1::LayoutHash hash = HashOf(whole, {6, 10}), first = HashOf(upper, {2, 10}), second = HashOf(lower, {4, 10});
  EXPECT_EQ(hash.order(), first.order() + PlaceWeight(20) * second.order());
  EXPECT_EQ(hash.axes(0), first.axes(0) + PlaceWeight(2) * second.axes(0));
  EXPECT_EQ(hash.axes(1), first.axes(1) + second.axes(1));
}

TEST(LayoutHash, AShapeThatDoesNotHoldTheElementsHasNoAxes) {
  EXPECT_EQ(HashOf(Random(7), {2, 3}).axes_size(), 0);
  EXPECT_EQ(HashOf({}, {0, 3}).axes_size(), 2);
  EXPECT_EQ(HashOf(Random(7), {7}).axes_size(), 0);
}

}  // namespace
}  // namespace paritect
