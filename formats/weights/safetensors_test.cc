#include "formats/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Why(absl::string_view header, absl::string_view data) {
  const auto source = OpenBytes(SafetensorsFile(header, data));
  return source.ok() ? "" : std::string(source.status().message());
}

TEST(Safetensors, TensorsInTheOrderOfTheHeader) {
  const auto source = OpenBytes(SampleSafetensors());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2,2]", "b BF16 [3]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4}));
  EXPECT_EQ(ReadTensor(**source, 1).value(), std::string("\x80\x3f\x00\x40\x40\x40", 6));
  EXPECT_EQ((*source)->about().format(), "safetensors");
}

TEST(Safetensors, ScalarsEmptyAndPackedTensors) {
  const auto source = OpenBytes(SafetensorsFile(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                                R"("e":{"dtype":"I64","shape":[0,5],"data_offsets":[4,4]},)"
                                                R"("p":{"dtype":"F4","shape":[1,4],"data_offsets":[4,6]}})",
                                                std::string(6, '\0')));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("s F32 []", "e I64 [0,5]", "p F4 [1,4]"));
  EXPECT_EQ(ReadTensor(**source, 1).value(), "");
  EXPECT_EQ(ReadTensor(**source, 2).value().size(), 2u);
}

TEST(Safetensors, RefusesLayoutsThatAreNot) {
  const std::string two = std::string(8, '\0');
  const auto one = [](absl::string_view rest) {
    return absl::StrCat(R"({"w":{"dtype":"F32","shape":[1],)", rest, "}");
  };
  EXPECT_THAT(Why(one(R"("data_offsets":[0,4]})"), two), HasSubstr("tells of 4 bytes of data, the file has 8"));
  EXPECT_THAT(Why(one(R"("data_offsets":[4,8]})"), two), HasSubstr("a hole"));
  EXPECT_THAT(Why(one(R"("data_offsets":[0,8]})"), two), HasSubstr("its shape takes 4 bytes"));
  EXPECT_THAT(Why(one(R"("data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[2,6]})"), two),
              HasSubstr("overlap"));
  EXPECT_THAT(Why(one(R"("data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), two),
              HasSubstr("key 'w' stands twice"));
  EXPECT_THAT(Why(one(R"("data_offsets":[0,400]})"), "1234"), HasSubstr("its shape takes 4 bytes"));
  EXPECT_THAT(Why(R"({"w":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]}})", "1234"),
              HasSubstr("file cut off?"));
  EXPECT_THAT(Why(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"), HasSubstr("no count: -1"));
  EXPECT_THAT(Why(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("2^63"));
  EXPECT_THAT(Why(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "1234"), HasSubstr("F99"));
  EXPECT_THAT(Why(R"({"w":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", "1"), HasSubstr("no whole bytes"));
  EXPECT_THAT(Why(R"({"__metadata__":{"a":1}})", ""), HasSubstr("__metadata__.a is no text"));
  EXPECT_THAT(Why(R"( {})", ""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(Why(R"({"w":)", ""), HasSubstr("header, line 1"));
}

TEST(Safetensors, RefusesHeadersBeyondTheFormat) {
  const auto huge = OpenBytes(LittleEndianBytes(100'000'001, 8) + "{}");
  EXPECT_TRUE(absl::IsDataLoss(huge.status()));
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("the format allows 100000000"));
  // 100 MB that would be there are not taken into memory.
  const auto large = OpenBytes(LittleEndianBytes(99'000'000, 8) + "{" + std::string(99'000'000, ' '));
  EXPECT_TRUE(absl::IsResourceExhausted(large.status())) << large.status();
}

// crc32 over names and bytes, by name.
TEST(Safetensors, MindsporesChecksumIsCompared) {
  const std::uint32_t crc = Crc32(Crc32(0, "w"), Floats({1}));
  const auto file = [](std::uint32_t stated) {
    return SafetensorsFile(absl::StrCat(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":)",
                                        R"({"format":"ms","remove_redundancy":"True","crc_num":")", stated, "\"}}"),
                           Floats({1}));
  };
  const auto good = OpenBytes(file(crc));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE((*good)->about().removed_redundancy());
  EXPECT_THAT(std::string(OpenBytes(file(crc + 1)).status().message()), HasSubstr("checksum"));
}

TEST(Safetensors, AFileThatIsWrittenMeanwhileIsUnstable) {
  MemoryFileSystem fs;
  fs.AddFile("/m", SampleSafetensors());
  auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  fs.AddFile("/m", SampleSafetensors() + "more");
  const absl::Status status = ReadTensor(**source, 0).status();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("changed while it was read"));
}

}  // namespace
}  // namespace paritect
