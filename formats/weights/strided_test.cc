#include "formats/weights/strided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

// Element by element, as the definition of strides says.
std::string Expected(const StridedView& view, const std::string& storage) {
  const std::size_t element = static_cast<std::size_t>(DTypeBits(view.dtype)) / 8;
  std::string out;
  std::vector<std::int64_t> index(view.shape.size(), 0);
  while (true) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * view.strides[i];
    out += storage.substr(static_cast<std::size_t>(view.offset) + static_cast<std::size_t>(at) * element, element);
    std::size_t i = index.size();
    while (i > 0 && ++index[i - 1] == view.shape[i - 1]) index[--i] = 0;
    if (i == 0) return out;
  }
}

std::string Read(const StridedView& view) {
  std::string out;
  EXPECT_TRUE(CheckView(view).ok());
  const absl::Status status = ReadStrided(view, [&](absl::string_view block) {
    EXPECT_LE(block.size(), kTensorBlockBytesMax);
    absl::StrAppend(&out, block);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

std::string Counted(std::size_t elements, std::size_t width) {
  std::string storage;
  for (std::size_t i = 0; i < elements; ++i) storage += LittleEndianBytes(i * 2654435761u, width);
  return storage;
}

TEST(Strided, EveryShapeAsItsDefinition) {
  const std::string storage = Counted(5000, 4);
  const SharedBytes bytes = BytesInMemory("storage", storage);
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> views = {
      {{}, {}},
      {{7}, {1}},
      {{7}, {3}},
      {{4, 5}, {5, 1}},
      {{5, 4}, {1, 5}},
      {{2, 3, 4}, {4, 8, 1}},
      {{4, 2, 3}, {1, 12, 4}},
      {{3, 4}, {1, 0}},
      {{2, 3}, {0, 0}},
      {{1, 6, 1}, {99, 2, 77}},
      {{2, 2, 2}, {2000, 1, 900}},
      {{3, 2}, {1200, 1100}}};
  for (const auto& [shape, strides] : views) {
    const StridedView view = {bytes, 8, DType::kF32, shape, strides, false};
    EXPECT_EQ(Read(view), Expected(view, storage))
        << absl::StrJoin(shape, ",") << " by " << absl::StrJoin(strides, ",");
  }
}

// Larger than what is gathered at a time, in both directions.
TEST(Strided, LargeTransposedMatrices) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{3000, 2500}, {3, 3'000'000}, {3'000'000, 3}}) {
    std::string storage(static_cast<std::size_t>(rows * columns) * 4, '\0');
    for (std::size_t i = 0; i < storage.size(); i += 4) storage.replace(i, 4, LittleEndianBytes(i * 2654435761u, 4));
    const StridedView view = {BytesInMemory("storage", storage), 0, DType::kI32, {columns, rows}, {1, columns}, false};
    EXPECT_TRUE(Read(view) == Expected(view, storage)) << rows << " x " << columns;
  }
}

TEST(Strided, ViewsThatLeaveTheirStorage) {
  const SharedBytes bytes = BytesInMemory("storage", std::string(40, 'x'));
  const auto check = [&](std::uint64_t offset, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return CheckView({bytes, offset, DType::kF32, std::move(shape), std::move(strides), false});
  };
  EXPECT_TRUE(check(0, {10}, {1}).ok());
  EXPECT_TRUE(check(0, {0, 99}, {99, 1}).ok());
  EXPECT_TRUE(absl::IsDataLoss(check(4, {10}, {1})));
  EXPECT_TRUE(absl::IsDataLoss(check(0, {2}, {10})));
  EXPECT_TRUE(absl::IsDataLoss(check(0, {2, 2}, {1})));
  EXPECT_TRUE(absl::IsDataLoss(check(0, {1ll << 62, 1ll << 62}, {1ll << 62, 1})));
  EXPECT_TRUE(absl::IsDataLoss(check(0, {2}, {-1})));
}

}  // namespace
}  // namespace paritect
