#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The helper stands beside `paritect`; tests stand elsewhere, so that a link beside this program leads to it.
class KerasH5 : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string program = PARITECT_BINARY_DIR "/paritect-hdf5";
    if (!PosixFileSystem().Stat(program).ok()) GTEST_SKIP() << "the helper is not built";
    const auto self = PosixFileSystem().ReadLink("/proc/self/exe");
    ASSERT_TRUE(self.ok());
    (void)!symlink(program.c_str(), absl::StrCat(DirName(*self), "/paritect-hdf5").c_str());
  }
  static std::string Put(absl::string_view bytes) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/keras_h5_test.", getpid());
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }
};

TEST_F(KerasH5, DatasetsByPlaceAndFromChunks) {
  const std::string folder = PARITECT_SOURCE_DIR "/../shared/weights/generated/keras/";
  if (!PosixFileSystem().Stat(folder).ok()) GTEST_SKIP() << "no sample files beside the checkout";
  auto chunked = OpenWeights(PosixFileSystem(), folder + "chunked_gzip.h5");
  ASSERT_TRUE(chunked.ok()) << chunked.status();
  EXPECT_THAT(Listed(**chunked), ElementsAre("w F32 [64,64]"));
  EXPECT_EQ(ReadTensor(**chunked, 0).value(), Floats(std::vector<float>(64 * 64, 1)));
  auto plain = OpenWeights(PosixFileSystem(), folder + "weights.h5");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ((*plain)->tensors().size(), 6u);
  EXPECT_EQ(ReadTensor(**plain, 0).value().size(), (*plain)->tensors()[0].bytes);
}

TEST_F(KerasH5, WhatTheLibraryRefusesIsRefused) {
  const std::string magic("\x89HDF\r\n\x1a\n", 8);
  for (const std::string& rest : {std::string(), std::string(1000, '\0'), std::string(1000, '\xff')}) {
    const auto source = OpenWeights(PosixFileSystem(), Put(magic + rest));
    EXPECT_TRUE(absl::IsDataLoss(source.status())) << source.status();
  }
}

// Where it stands in the archive, from a copy where it is deflated, and of a file that is in memory alone.
TEST_F(KerasH5, InsideAnArchive) {
  const std::string folder = PARITECT_SOURCE_DIR "/../shared/weights/generated/keras/";
  const auto inner = ReadWholeFile(PosixFileSystem(), folder + "chunked_gzip.h5", 1 << 20);
  if (!inner.ok()) GTEST_SKIP() << "no sample files beside the checkout";
  for (const bool deflated : {false, true}) {
    const std::string archive = MakeZip({{"metadata.json", R"({"keras_version": "3.3.3"})", false},
                                         {"config.json", "{}", false},
                                         {"model.weights.h5", *inner, deflated}});
    MemoryFileSystem memory;
    memory.AddFile("/m", archive);
    for (FileSystem* fs : {&PosixFileSystem(), static_cast<FileSystem*>(&memory)}) {
      auto source = OpenWeights(*fs, fs == &memory ? "/m" : Put(archive));
      ASSERT_TRUE(source.ok()) << source.status();
      EXPECT_EQ((*source)->about().format(), "keras-h5");
      ASSERT_THAT(Listed(**source), ElementsAre("w F32 [64,64]"));
      EXPECT_EQ(ReadTensor(**source, 0).value(), Floats(std::vector<float>(64 * 64, 1)));
      EXPECT_EQ((*source)->about().facts(0).name(), "keras_version");
    }
  }
}

TEST_F(KerasH5, PlacesInAnArchiveAreThoseOfTheInnerFile) {
  const std::string folder = PARITECT_SOURCE_DIR "/../shared/weights/generated/keras/";
  const auto inner = ReadWholeFile(PosixFileSystem(), folder + "weights.h5", 1 << 20);
  if (!inner.ok()) GTEST_SKIP() << "no sample files beside the checkout";
  auto plain = OpenWeights(PosixFileSystem(), folder + "weights.h5");
  auto packed = OpenWeights(PosixFileSystem(), Put(MakeZip({{"model.weights.h5", *inner, false}})));
  ASSERT_TRUE(plain.ok() && packed.ok()) << packed.status();
  ASSERT_EQ(Listed(**plain), Listed(**packed));
  for (std::size_t i = 0; i < (*plain)->tensors().size(); ++i) {
    EXPECT_EQ(ReadTensor(**plain, i).value(), ReadTensor(**packed, i).value());
  }
}

TEST_F(KerasH5, ArchivesWithoutWeightsOrWithDamagedOnes) {
  const auto open = [](const std::string& archive) { return OpenWeights(PosixFileSystem(), Put(archive)).status(); };
  const absl::Status none = open(MakeZip({{"metadata.json", "{}", false}, {"config.json", "{}", false}}));
  EXPECT_TRUE(absl::IsUnimplemented(none)) << none;
  const absl::Status damaged = open(MakeZip({{"model.weights.h5", "\x89HDF", false}}));
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
}

}  // namespace
}  // namespace paritect
