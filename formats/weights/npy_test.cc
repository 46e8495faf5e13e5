// .npy and .npz: headers, orders, byte orders, archives.
#include "formats/weights/npy.h"

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

std::string Content(const std::string& bytes, std::size_t index = 0) {
  const auto source = OpenBytes(bytes);
  if (!source.ok()) return std::string(source.status().message());
  const auto read = ReadTensor(**source, index);
  return read.ok() ? *read : std::string(read.status().message());
}

TEST(Npy, OrdersOfElementsAndBytes) {
  EXPECT_EQ(Content(SampleNpy()), Floats({1, 2, 3, 4}));
  EXPECT_EQ(Content(NpyFile("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", Floats({1, 4, 2, 5, 3, 6}))),
            Floats({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Content(NpyFile("{'descr': '>i2', 'fortran_order': False, 'shape': (2L,), }", std::string("\0\1\0\2", 4))),
            std::string("\1\0\2\0", 4));
  EXPECT_EQ(Content(NpyFile("{\"shape\": (), \"descr\": \"|b1\", \"fortran_order\": False}", "\x01")), "\x01");
  EXPECT_EQ(Content(NpyFile("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", Floats({1, 2}))),
            Floats({1, 2}));
  EXPECT_EQ(Content(NpyFile("{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}",
                            std::string("\x3f\x80\0\0\x40\0\0\0", 8))),
            Floats({1, 2}));
}

TEST(Npy, RefusesWhatIsNoPlainTensor) {
  EXPECT_THAT(Why(NpyFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "x")), HasSubstr("Python objects"));
  EXPECT_THAT(Why(NpyFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234")),
              HasSubstr("records"));
  EXPECT_THAT(Why(NpyFile("{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "1234")), HasSubstr("'<U4'"));
  EXPECT_THAT(Why(NpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "1234")),
              HasSubstr("takes 12 bytes, 4 follow"));
  EXPECT_THAT(Why(NpyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "")),
              HasSubstr("2^63"));
  EXPECT_THAT(Why(NpyFile("{'descr': '<f4', 'shape': (1,)}", "1234")), HasSubstr("lacks"));
  EXPECT_THAT(Why(NpyFile("{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (1,)}", "1234")),
              HasSubstr("True or False"));
  EXPECT_THAT(Why(absl::StrCat(absl::string_view("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12))), HasSubstr("at most 10000"));
}

TEST(Npz, StoredAndDeflatedArrays) {
  const auto source = OpenBytes(SampleNpz());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2,2]", "b F32 [2,2]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4}));
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({1, 2, 3, 4}));
}

// Blocks of the archive end within an element; its bytes must not be turned around in halves.
TEST(Npz, DeflatedBigEndianElementsAreWhole) {
  std::string big, little;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::string bytes = LittleEndianBytes(i * 0x9e3779b97f4a7c15, 8);
    little += bytes;
    big.append(bytes.rbegin(), bytes.rend());
  }
  const std::string npy = NpyFile("{'descr': '>i8', 'fortran_order': False, 'shape': (100000,)}", big);
  EXPECT_EQ(Content(MakeZip({{"w.npy", npy, true}})), little);
}

TEST(Npz, ObjectsBesideArraysAreListedAndNotRead) {
  const std::string objects = NpyFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "x");
  const auto source = OpenBytes(MakeZip({{"w.npy", SampleNpy()}, {"o.npy", objects}}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTensor(**source, 1).status()));
}

TEST(Npz, AZipBombIsRefusedBeforeItIsUnpacked) {
  const std::string bomb =
      NpyFile("{'descr': '|u1', 'fortran_order': False, 'shape': (134217728,)}", std::string(128 << 20, '\0'));
  const std::string archive = MakeZip({{"w.npy", bomb, true}});
  ASSERT_LT(archive.size(), 200'000u);
  EXPECT_THAT(Why(archive), HasSubstr("a ZIP bomb?"));
}

}  // namespace
}  // namespace paritect
