#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Tensor(int type, std::uint64_t extent, const std::string& data) {
  return absl::StrCat(WireNumber(1, extent), WireNumber(2, static_cast<std::uint64_t>(type)), WireBytes(8, "w"), data);
}

std::string Why(const std::string& tensor) {
  const auto source = OpenBytes(OnnxModel({tensor}));
  if (!source.ok()) return std::string(source.status().message());
  return std::string(ReadTensor(**source, 0).status().message());
}

std::string External(absl::string_view location) {
  return WireNumber(14, 1) + WireBytes(13, WireBytes(1, "location") + WireBytes(2, location)) +
         WireBytes(13, WireBytes(1, "offset") + WireBytes(2, "4"));
}

TEST(Onnx, EveryFormOfData) {
  const auto source = OpenBytes(SampleOnnx());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("raw F32 [2]", "floats F32 [2]", "ints I32 [3]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2}));
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({3, 4}));
  EXPECT_EQ(ReadTensor(**source, 2).value(),
            LittleEndianBytes(1, 4) + LittleEndianBytes(300, 4) + LittleEndianBytes(~0ull, 4));
}

TEST(Onnx, HalvesAsWholeNumbers) {
  const auto source = OpenBytes(OnnxModel({Tensor(10, 2, WireBytes(5, WireVarint(0x3c00) + WireVarint(0xbc00)))}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(ReadTensor(**source, 0).value(), LittleEndianBytes(0x3c00, 2) + LittleEndianBytes(0xbc00, 2));
}

TEST(Onnx, DataBesideTheModelButNowhereElse) {
  MemoryFileSystem fs;
  fs.AddFile("/m/model.onnx", OnnxModel({Tensor(1, 2, External("weights.bin"))}));
  fs.AddFile("/m/weights.bin", Floats({9, 1, 2}).substr(0, 12));
  auto source = OpenWeights(fs, "/m/model.onnx");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2}));
  for (absl::string_view place : {"/etc/passwd", "../secret", "a/../../secret", "..", ""}) {
    EXPECT_THAT(Why(Tensor(1, 2, External(place))), HasSubstr("not in the folder")) << place;
  }
  EXPECT_THAT(Why(Tensor(1, 2, External("missing.bin"))), HasSubstr("missing.bin"));
}

TEST(Onnx, RefusesDamage) {
  EXPECT_THAT(Why(Tensor(1, 3, WireBytes(9, Floats({1, 2})))), HasSubstr("its shape takes 12 bytes, 8 are there"));
  EXPECT_THAT(Why(Tensor(6, 5, WireBytes(5, WireVarint(1)))), HasSubstr("5 elements are stated, 1"));
  EXPECT_THAT(Why(Tensor(6, 1, WireBytes(5, WireVarint(1) + WireVarint(2)))), HasSubstr("1 elements are stated, 2"));
  EXPECT_THAT(Why(Tensor(1, 1ull << 63, WireBytes(9, "1234"))), HasSubstr("a dimension of -"));
  EXPECT_THAT(Why(Tensor(8, 1, WireBytes(6, "text"))), HasSubstr("type 8"));
  EXPECT_THAT(Why(Tensor(1, 1, "\x4a\x7f")), HasSubstr("cut off?"));
}

}  // namespace
}  // namespace paritect
