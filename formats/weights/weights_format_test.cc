#include "formats/weights/weights_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, std::string>& Samples() {
  static const auto* const samples = new std::map<std::string, std::string>{{"safetensors", SampleSafetensors()},
                                                                            {"mindspore-ckpt", SampleMindspore()},
                                                                            {"npy", SampleNpy()},
                                                                            {"npz", SampleNpz()},
                                                                            {"gguf", SampleGguf()},
                                                                            {"onnx", SampleOnnx()},
                                                                            {"torch-zip", SampleTorchZip()},
                                                                            {"torch-legacy", SampleTorchLegacy()},
                                                                            {"tf-bundle", SampleTfIndex()},
                                                                            {"tensor-table", "name,shape,sha256\n"}};
  return *samples;
}

TEST(WeightsFormat, EverySampleIsClaimedByItsFormatAlone) {
  for (const auto& [name, bytes] : Samples()) {
    MemoryFileSystem fs;
    fs.AddFile("/no-ending", bytes);
    const auto sample = SampleWeights(fs, "/no-ending");
    ASSERT_TRUE(sample.ok());
    std::vector<absl::string_view> claimed;
    for (const WeightsFormat* format : AllWeightsFormats()) {
      if (format->sniff(*sample)) claimed.push_back(format->name);
    }
    EXPECT_THAT(claimed, ::testing::ElementsAre(name));
  }
}

// Cut anywhere, a checkpoint is refused or read in part; it never crashes and never grows.
TEST(WeightsFormat, SamplesCutAtEveryByte) {
  for (const auto& [name, bytes] : Samples()) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      MemoryFileSystem fs;
      fs.AddFile("/m", bytes.substr(0, length));
      auto source = OpenWeights(fs, "/m");
      if (!source.ok()) continue;
      for (std::size_t i = 0; i < (*source)->tensors().size(); ++i) {
        const auto read = ReadTensor(**source, i);
        EXPECT_TRUE(!read.ok() || read->size() == (*source)->tensors()[i].bytes) << name << " at " << length;
      }
    }
  }
}

TEST(WeightsFormat, StandInsAreNamed) {
  EXPECT_THAT(std::string(OpenBytes("").status().message()), HasSubstr("an empty file"));
  EXPECT_THAT(std::string(OpenBytes("version https://git-lfs.github.com/spec/v1\n").status().message()),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(std::string(OpenBytes("<!DOCTYPE html><p>404").status().message()), HasSubstr("HTML page"));
}

TEST(WeightsFormat, WhatIsNoneSaysWhatWasSeen) {
  const auto source = OpenBytes("hello, world");
  EXPECT_TRUE(absl::IsInvalidArgument(source.status()));
  EXPECT_THAT(std::string(source.status().message()),
              HasSubstr("a file of 12 bytes that begins with \"hello, world\""));
  MemoryFileSystem fs;
  fs.AddFile("/folder/a.txt", "x");
  EXPECT_THAT(std::string(OpenWeights(fs, "/folder").status().message()), HasSubstr("a folder with 1 entries (a.txt)"));
  EXPECT_TRUE(absl::IsNotFound(OpenWeights(fs, "/nothing").status()));
}

}  // namespace
}  // namespace paritect
