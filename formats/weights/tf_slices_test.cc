#include "formats/weights/tf_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_testing.h"
#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

TEST(TfSlices, KeysAsTensorFlowWritesThem) {
  const std::string key = TfSliceKey("part", {{2, 3}, {0, -1}, {100, 300}});
  EXPECT_TRUE(IsTfSliceKey(key));
  const auto slice = ReadTfSliceKey(key);
  ASSERT_TRUE(slice.ok()) << slice.status();
  EXPECT_EQ(slice->variable, "part");
  EXPECT_THAT(slice->starts, ElementsAre(2, 0, 100));
  EXPECT_FALSE(IsTfSliceKey("part"));
  EXPECT_FALSE(IsTfSliceKey(""));
}

TEST(TfSlices, NumbersOfEveryLength) {
  for (const std::int64_t start : {std::int64_t{0}, std::int64_t{63}, std::int64_t{64}, std::int64_t{8191},
                                   std::int64_t{8192}, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    const auto slice = ReadTfSliceKey(TfSliceKey("w", {{start, 1}}));
    ASSERT_TRUE(slice.ok()) << start;
    EXPECT_THAT(slice->starts, ElementsAre(start));
  }
}

TEST(TfSlices, WhatIsCutOffIsRefused) {
  const std::string key = TfSliceKey("w", {{2, 3}, {100, 300}});
  for (std::size_t size = 0; size < key.size(); ++size)
    EXPECT_EQ(CodeOf(ReadTfSliceKey(key.substr(0, size))), absl::StatusCode::kDataLoss) << size;
  EXPECT_EQ(CodeOf(ReadTfSliceKey(key + "x")), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CodeOf(ReadTfSliceKey(TfSliceKey("w", {{-3, 1}}))), absl::StatusCode::kDataLoss);
}

TEST(TfSlices, APartitionedVariableIsPutTogether) {
  MemoryFileSystem fs;
  const auto entry = [](std::uint64_t offset, const std::vector<float>& values) {
    return TfEntry(1, {1, 2}, offset, Floats(values));
  };
  const std::string whole = TfEntry(1, {2, 2}, 0, "") + WireBytes(7, "");
  const auto open = [&](const std::vector<std::pair<std::string, std::string>>& entries) {
    fs.AddFile("/m/ckpt.index", SortedTable(entries));
    fs.AddFile("/m/ckpt.data-00000-of-00001", Floats({3, 4, 1, 2}));
    return OpenWeights(fs, "/m/ckpt.index");
  };
  const std::string first = TfSliceKey("w", {{0, 1}, {0, -1}}), second = TfSliceKey("w", {{1, 1}, {0, -1}});
  auto source = open({{"", WireNumber(1, 1)}, {first, entry(8, {1, 2})}, {second, entry(0, {3, 4})}, {"w", whole}});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2,2]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4}));
  EXPECT_EQ(CodeOf(open({{"", WireNumber(1, 1)}, {first, entry(8, {1, 2})}, {"w", whole}})),
            absl::StatusCode::kDataLoss)
      << "a slice is missing";
}

}  // namespace
}  // namespace paritect
