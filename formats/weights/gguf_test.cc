#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Why(const std::string& bytes) {
  const auto source = OpenBytes(bytes);
  return source.ok() ? "" : std::string(source.status().message());
}

TEST(Gguf, ShapesOutermostFirstAndBlocksAsBytes) {
  const auto source = OpenBytes(SampleGguf());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2,3]", "q Q8_0 [32]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ReadTensor(**source, 1).value(), std::string(34, '\x01'));
  EXPECT_THAT(Facts(**source), ElementsAre("general.name=text: \"tiny\""));
}

TEST(Gguf, RefusesCountsAndPlacesThatTheFileCannotHold) {
  EXPECT_THAT(
      Why(absl::StrCat("GGUF", LittleEndianBytes(3, 4), LittleEndianBytes(1ull << 60, 8), LittleEndianBytes(0, 8))),
      HasSubstr("tensors and 0 pairs are stated"));
  EXPECT_THAT(Why(GgufFile({LittleEndianBytes(1ull << 62, 8) + std::string(8, 'x')}, {}, "")), HasSubstr("cut off?"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {1ull << 40, 1ull << 40}, 0, 0)}, "")), HasSubstr("2^63"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {64}, 0, 0)}, "1234")), HasSubstr("256 bytes at"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {1}, 0, 1ull << 62)}, "1234")), HasSubstr("begins at"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {33}, 8, 0)}, std::string(99, 'x'))), HasSubstr("blocks hold 32"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {1}, 77, 0)}, "1234")), HasSubstr("the type 77 is not known"));
  EXPECT_THAT(Why(GgufFile({}, {GgufInfo("w", {1}, 0, 0), GgufInfo("w", {1}, 0, 0)}, "1234")),
              HasSubstr("two tensors"));
  EXPECT_THAT(
      Why(GgufFile({GgufText("general.alignment") + LittleEndianBytes(4, 4) + LittleEndianBytes(0, 4)}, {}, "")),
      HasSubstr("general.alignment is 0"));
  const std::string deep = GgufText("a") + LittleEndianBytes(9, 4);
  std::string arrays = deep;
  for (int i = 0; i < 100; ++i) arrays += LittleEndianBytes(9, 4) + LittleEndianBytes(1, 8);
  EXPECT_THAT(Why(GgufFile({arrays}, {}, "")), HasSubstr("too deep"));
}

}  // namespace
}  // namespace paritect
