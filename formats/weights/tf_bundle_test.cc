#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<StoredTensors>> OpenBundle(MemoryFileSystem& fs, const std::string& index,
                                                          const std::string& data) {
  fs.AddFile("/m/ckpt.index", index);
  fs.AddFile("/m/ckpt.data-00000-of-00001", data);
  return OpenWeights(fs, "/m/ckpt.index");
}

TEST(TfBundle, TensorsAndSteps) {
  MemoryFileSystem fs;
  auto source = OpenBundle(fs, SampleTfIndex(), SampleTfData());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("dense/kernel F32 [2,2]", "global_step I64 []"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4}));
  EXPECT_THAT(Facts(**source), ElementsAre("global_step=integer: 12"));
}

TEST(TfBundle, FoldersByWhatStandsInThem) {
  MemoryFileSystem fs;
  fs.AddFile("/saved/saved_model.pb", "x");
  fs.AddFile("/saved/variables/variables.index", SampleTfIndex());
  fs.AddFile("/saved/variables/variables.data-00000-of-00001", SampleTfData());
  EXPECT_TRUE(OpenWeights(fs, "/saved").ok());
  for (absl::string_view step : {"1", "2"}) {
    fs.AddFile(absl::StrCat("/train/model.ckpt-", step, ".index"), SampleTfIndex());
    fs.AddFile(absl::StrCat("/train/model.ckpt-", step, ".data-00000-of-00001"), SampleTfData());
  }
  EXPECT_THAT(std::string(OpenWeights(fs, "/train").status().message()), HasSubstr("checkpoint"));
  fs.AddFile("/train/checkpoint",
             "model_checkpoint_path: \"/elsewhere/model.ckpt-2\"\nall_model_checkpoint_paths: \"x\"\n");
  EXPECT_TRUE(OpenWeights(fs, "/train").ok());
}

TEST(TfBundle, DamageIsFoundByChecksums) {
  MemoryFileSystem fs;
  std::string data = SampleTfData();
  data[2] = static_cast<char>(data[2] ^ 1);
  auto source = OpenBundle(fs, SampleTfIndex(), data);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(std::string(ReadTensor(**source, 0).status().message()), HasSubstr("checksum"));
  std::string index = SampleTfIndex();
  index[20] = static_cast<char>(index[20] ^ 1);
  MemoryFileSystem other;
  EXPECT_THAT(std::string(OpenBundle(other, index, data).status().message()), HasSubstr("another checksum"));
}

TEST(TfBundle, EntriesThatDoNotFit) {
  const auto why = [](const std::string& entry) {
    MemoryFileSystem fs;
    const auto source = OpenBundle(fs, SortedTable({{"", WireNumber(1, 1)}, {"w", entry}}), SampleTfData());
    return source.ok() ? "" : std::string(source.status().message());
  };
  EXPECT_THAT(why(TfEntry(1, {3}, 0, Floats({1, 2}))), HasSubstr("its shape takes 12 bytes, 8 are stated"));
  EXPECT_THAT(why(TfEntry(1, {2}, 1000, Floats({1, 2}))), HasSubstr("file cut off?"));
  EXPECT_THAT(why(TfEntry(1, {1ull << 40, 1ull << 40}, 0, "")), HasSubstr("2^63"));
  MemoryFileSystem fs;
  fs.AddFile("/m/ckpt.index", SampleTfIndex());
  auto alone = OpenWeights(fs, "/m/ckpt.index");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTensor(**alone, 0).status())) << "its data are not there";
}

}  // namespace
}  // namespace paritect
