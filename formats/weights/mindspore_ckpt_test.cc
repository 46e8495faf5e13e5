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

TEST(MindsporeCkpt, SlicesScalarsAndTexts) {
  const auto source = OpenBytes(SampleMindspore());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("conv.weight F32 [2,2]", "big F32 [4]", "scale_sense F32 []"));
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({1, 2, 3, 4}));
  EXPECT_THAT(Facts(**source), ElementsAre("scale_sense=number: 1024", "note=text: \"ab\""));
}

TEST(MindsporeCkpt, RolesOfOptimizers) {
  const auto source = OpenBytes(MindsporeValue("moments.w", "Float32", {1}, Floats({1})) +
                                MindsporeValue("bn.moving_mean", "Float32", {1}, Floats({1})));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->tensors()[0].role, v1::TENSOR_ROLE_OPTIMIZER_STATE);
  EXPECT_EQ((*source)->tensors()[1].role, v1::TENSOR_ROLE_BUFFER);
}

TEST(MindsporeCkpt, UnknownTypesAreListedAndNotRead) {
  const auto source =
      OpenBytes(MindsporeValue("w", "Float32", {1}, Floats({1})) + MindsporeValue("q", "qint4x2", {2}, "x"));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [1]", "q qint4x2 [2]"));
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTensor(**source, 1).status()));
}

TEST(MindsporeCkpt, RefusesDamage) {
  std::string flipped = SampleMindspore();
  flipped[30] = static_cast<char>(flipped[30] ^ 1);
  EXPECT_THAT(Why(flipped), HasSubstr("checksum"));
  const std::string value = MindsporeValue("w", "Float32", {2}, Floats({1, 2}));
  EXPECT_THAT(Why(value.substr(0, value.size() - 3)), HasSubstr("file cut off?"));
  EXPECT_THAT(Why(MindsporeValue("w", "Float32", {3}, Floats({1, 2}))),
              HasSubstr("its shape takes 12 bytes, 8 are there"));
  EXPECT_THAT(Why(MindsporeValue("w", "Float32", {-1}, Floats({1}))), HasSubstr("a dimension of -1"));
  EXPECT_THAT(Why(MindsporeValue("w", "Float32", {1ll << 40, 1ll << 40}, "1234")), HasSubstr("2^63"));
  EXPECT_THAT(Why(value + MindsporeValue("v", "Float32", {1}, Floats({1})) + value),
              HasSubstr("two parameters of the name w"));
  EXPECT_THAT(Why(value + MindsporeValue("v", "", {1}, Floats({1}))), HasSubstr("parameter v has no type"));
  EXPECT_THAT(Why(value + WireBytes(2, "x")), HasSubstr("none of a checkpoint's"));
}

TEST(MindsporeCkpt, EncryptedFilesSayHowToGoOn) {
  const auto source = OpenBytes(absl::string_view("\xd8\x5e\x3a\x7f\0\0\0\0", 8));
  EXPECT_TRUE(absl::IsUnimplemented(source.status()));
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("enc_key"));
}

}  // namespace
}  // namespace paritect
